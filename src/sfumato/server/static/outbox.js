/**
 * Outbox: the queue of answers to send. Answers are sent one at a time in order and retried without limit until the
 * server replies that each is stored (200, 201), not counted (409) or refused (422). The queue is stored in IndexedDB,
 * or in memory if that fails.
 *
 * All tabs of a participant share the queue. A lock lets one tab send at a time; without locks several tabs may send,
 * which is harmless because every answer has a unique key.
 *
 * Events: `change` (count or trouble), `stored`, `not-counted`, `refused` (detail: entry, data, stamp), `other-tab`
 * (another tab added or sent answers), `unknown` (the server does not know the link; the answers stay in the queue).
 */

import { scopeOf, uuid } from './identity.js';
import { AnswerStorage } from './answer_storage.js';
import { RetryTimer, backoff } from './retry.js';

/**
 * @typedef {object} Entry an answer in the outbox
 * @property {string} key
 * @property {string} trial
 * @property {boolean} practice
 * @property {string} body the exact text sent, the same at every attempt
 * @property {number} order
 * @property {number} at Date.now() at submit
 * @property {number} tick performance.now() at submit
 * @property {string} life the id of the page load in which it was given
 */

const LOCK_MS = 40_000;
const FINAL_STATUS = new Map([[200, 'stored'], [201, 'stored'], [409, 'not-counted'], [422, 'refused']]);

export class Outbox extends EventTarget {
  /** Whether the last attempt failed. */
  failing = false;

  #life = uuid();
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** Keys that are in the storage; all other answers exist in this page only. @type {Set<string>} */
  #stored = new Set();
  #timer = new RetryTimer();
  #mustWait = false;
  /** Whether the last reply was that the server does not know the link. */
  #isUnknown = false;
  #api;
  #storage;
  #lock;
  #channel;

  /** @param {import('./api.js').Api} api
   * @param {AnswerStorage|null} storage
   * @param {string} scope */
  constructor(api, storage, scope) {
    super();
    this.#api = api;
    this.#storage = storage;
    this.#lock = `sfumato-outbox-${scope}`;
    this.#channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`sfumato-${scope}`) : null;
    this.#channel?.addEventListener('message', () => this.#readOtherTab());
    for (const type of ['online', 'pageshow', 'focus']) addEventListener(type, () => this.#wake());
  }

  /** The outbox of one participant with the answers left from an earlier page; starts to send.
   * @param {import('./api.js').Api} api
   * @param {string} base
   * @returns {Promise<Outbox>} */
  static async open(api, base) {
    const scope = scopeOf(base);
    const outbox = new Outbox(api, await AnswerStorage.open(scope), scope);
    await outbox.#load();
    outbox.#run();
    return outbox;
  }

  /** Answers that the server does not have yet, oldest first. */
  get waiting() {
    return [...this.#entries.values()].sort((a, b) => a.order - b.order);
  }

  /** Whether closing the page now would lose answers. */
  get fragile() {
    return this.waiting.some((entry) => !this.#stored.has(entry.key));
  }

  /** Adds an answer; resolves when it is stored, if this browser can store it.
   * @param {string} key
   * @param {string} trial
   * @param {boolean} practice
   * @param {string} body */
  async add(key, trial, practice, body) {
    const order = Math.max(0, ...this.waiting.map((entry) => entry.order)) + 1;
    const entry = { key, trial, practice, body, order, at: Date.now(), tick: performance.now(), life: this.#life };
    this.#entries.set(key, entry);
    this.#changed();
    try {
      await this.#storage?.put(entry);
      if (this.#storage) this.#stored.add(key);
    } catch {
      // Quota exceeded or storage lost: the entry stays in memory, and `fragile` is true.
    }
    this.#channel?.postMessage('added');
    this.#wake();
  }

  /** Resolves when no answer waits, or when the server does not know the link. */
  async sent() {
    while (this.waiting.length && !this.#isUnknown) {
      await new Promise((resolve) => this.addEventListener('change', resolve, { once: true }));
    }
  }

  /** Removes the answers that the server refused from this browser. */
  async removeRefused() {
    await this.#storage?.removeRefused().catch(() => {});
  }

  async #load() {
    const found = await this.#storage?.entries().catch(() => []);
    for (const entry of found ?? []) {
      this.#entries.set(entry.key, entry);
      this.#stored.add(entry.key);
    }
  }

  /** Another tab added or removed entries: read the storage again. */
  async #readOtherTab() {
    const found = await this.#storage?.entries().catch(() => null);
    if (!found) return;
    const there = new Set(found.map((entry) => entry.key));
    for (const key of [...this.#stored].filter((each) => !there.has(each))) {
      this.#entries.delete(key);
      this.#stored.delete(key);
    }
    for (const entry of found) {
      this.#entries.set(entry.key, entry);
      this.#stored.add(entry.key);
    }
    this.#changed();
    this.dispatchEvent(new Event('other-tab'));
    this.#wake();
  }

  async #run() {
    for (let failures = 0; ; ) {
      const entry = this.waiting[0];
      if (!entry) {
        await this.#timer.sleep();
        continue;
      }
      const outcome = await this.#withLock(() => this.#send(entry));
      failures = outcome.done ? 0 : failures + 1;
      this.failing = !outcome.done;
      this.#changed();
      if (outcome.done) continue;
      this.#mustWait = outcome.retryAfterMs > 0;
      await this.#timer.sleep(Math.max(backoff(failures), outcome.retryAfterMs));
      this.#mustWait = false;
    }
  }

  /** One attempt. @param {Entry} entry
   * @returns {Promise<{done: boolean, retryAfterMs: number}>} */
  async #send(entry) {
    if (await this.#sentByOtherTab(entry)) {
      this.#entries.delete(entry.key);
      this.dispatchEvent(new Event('other-tab'));
      return { done: true, retryAfterMs: 0 };
    }
    const stamp = this.#api.stamp();
    const headers = { 'X-Sfumato-Age': String(this.#ageMs(entry)) };
    const reply = await this.#api.post('answers', entry.body, headers).catch(() => null);
    const outcome = FINAL_STATUS.get(reply?.status ?? 0);
    // The login page of a hotel network may reply 200 too: require the fields of our API.
    const confirmed = outcome === 'stored' ? reply?.data?.answer : reply?.data?.code;
    if (!reply || !outcome || confirmed === undefined) {
      this.#isUnknown = Boolean(reply?.data?.code) && (reply?.status === 404 || reply?.status === 410);
      if (this.#isUnknown) this.dispatchEvent(new Event('unknown'));
      return { done: false, retryAfterMs: reply?.retryAfterMs ?? 0 };
    }
    await this.#remove(entry, outcome, reply.data);
    this.dispatchEvent(new CustomEvent(outcome, { detail: { entry, data: reply.data, stamp } }));
    return { done: true, retryAfterMs: 0 };
  }

  /** @param {Entry} entry
   * @param {string} outcome
   * @param {any} data */
  async #remove(entry, outcome, data) {
    this.#entries.delete(entry.key);
    // An entry that cannot be removed is sent again by the next page; the server then replies 200.
    await (outcome === 'refused' ? this.#storage?.refuse(entry, data) : this.#storage?.remove(entry.key))?.catch(() => {});
    this.#stored.delete(entry.key);
    this.#channel?.postMessage('sent');
  }

  /** @param {Entry} entry */
  async #sentByOtherTab(entry) {
    if (!this.#entries.has(entry.key)) return true;
    if (!this.#stored.has(entry.key)) return false;
    return !(await this.#storage?.has(entry.key).catch(() => true));
  }

  /** Milliseconds since the answer was submitted. The system clock can be changed, so it is used only for answers of
   * an earlier page load. @param {Entry} entry */
  #ageMs(entry) {
    const age = entry.life === this.#life ? performance.now() - entry.tick : Date.now() - entry.at;
    return Math.max(0, Math.round(age));
  }

  /** Runs `send` while no other tab sends. @template T
   * @param {() => Promise<T>} send
   * @returns {Promise<T>} */
  async #withLock(send) {
    if (!navigator.locks) return send();
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), LOCK_MS);
    let begun = false;
    try {
      return await navigator.locks.request(this.#lock, { signal: giveUp.signal }, () => {
        begun = true;
        clearTimeout(timer);
        return send();
      });
    } catch (error) {
      if (begun) throw error;
      // A suspended tab that holds the lock must not prevent this tab from sending.
      return send();
    } finally {
      clearTimeout(timer);
    }
  }

  #wake() {
    if (!this.#mustWait) this.#timer.wake();
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
