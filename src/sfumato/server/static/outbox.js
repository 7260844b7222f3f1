/**
 * Outbox: answers on their way. They are sent one at a time in the order given, for ever, until the server has said
 * that it stored (200, 201), set aside (409) or refused (422) each. Kept in IndexedDB; in memory where that fails.
 *
 * Every tab of a person holds the same queue. A lock lets one of them send at a time; where there are no locks both
 * may, which the answers' keys make harmless.
 *
 * Events: `change` (count or trouble), `stored`, `set-aside`, `refused` (detail: entry, data, stamp), `elsewhere`
 * (another tab added or sent some), `unknown` (the server does not know the link; the answers stay).
 */

import { scopeOf, uuid } from './identity.js';
import { Vault } from './vault.js';
import { Alarm, backoff } from './waiting.js';

/**
 * @typedef {object} Entry an answer in the outbox
 * @property {string} key
 * @property {string} trial
 * @property {boolean} practice
 * @property {string} body the exact text sent, the same at every try
 * @property {number} order
 * @property {number} at Date.now() at submit
 * @property {number} tick performance.now() at submit
 * @property {string} life the page life it was given in
 */

const LOCK_MS = 40_000;
const LETS_GO = new Map([[200, 'stored'], [201, 'stored'], [409, 'set-aside'], [422, 'refused']]);

export class Outbox extends EventTarget {
  /** Whether the last try failed. */
  failing = false;

  #life = uuid();
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** Keys that are in the vault: without it they live in this page only. @type {Set<string>} */
  #kept = new Set();
  #alarm = new Alarm();
  #firm = false;
  #api;
  #vault;
  #lock;
  #channel;

  /** @param {import('./api.js').Api} api
   * @param {Vault|null} vault
   * @param {string} scope */
  constructor(api, vault, scope) {
    super();
    this.#api = api;
    this.#vault = vault;
    this.#lock = `sfumato-outbox-${scope}`;
    this.#channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`sfumato-${scope}`) : null;
    this.#channel?.addEventListener('message', () => this.#hear());
    for (const type of ['online', 'pageshow', 'focus']) addEventListener(type, () => this.#wake());
  }

  /** The outbox of one person with what an earlier page left in it, already sending.
   * @param {import('./api.js').Api} api
   * @param {string} base
   * @returns {Promise<Outbox>} */
  static async open(api, base) {
    const scope = scopeOf(base);
    const outbox = new Outbox(api, await Vault.open(scope), scope);
    await outbox.#load();
    outbox.#run();
    return outbox;
  }

  /** What the server does not have yet, oldest first. */
  get waiting() {
    return [...this.#entries.values()].sort((a, b) => a.order - b.order);
  }

  /** Whether closing the page now would lose answers for good. */
  get fragile() {
    return this.waiting.some((entry) => !this.#kept.has(entry.key));
  }

  /** Puts an answer in; resolves when it is as safe as this browser can make it.
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
      await this.#vault?.put(entry);
      if (this.#vault) this.#kept.add(key);
    } catch {
      // Quota full or storage gone: the entry goes on from memory, and `fragile` says so.
    }
    this.#channel?.postMessage('added');
    this.#wake();
  }

  async #load() {
    const found = await this.#vault?.entries().catch(() => []);
    for (const entry of found ?? []) {
      this.#entries.set(entry.key, entry);
      this.#kept.add(entry.key);
    }
  }

  /** Another tab added or let go of something: take over what it has, forget what is gone. */
  async #hear() {
    const found = await this.#vault?.entries().catch(() => null);
    if (!found) return;
    const there = new Set(found.map((entry) => entry.key));
    for (const key of [...this.#kept].filter((each) => !there.has(each))) {
      this.#entries.delete(key);
      this.#kept.delete(key);
    }
    for (const entry of found) {
      this.#entries.set(entry.key, entry);
      this.#kept.add(entry.key);
    }
    this.#changed();
    this.dispatchEvent(new Event('elsewhere'));
    this.#wake();
  }

  async #run() {
    for (let failures = 0; ; ) {
      const entry = this.waiting[0];
      if (!entry) {
        await this.#alarm.sleep();
        continue;
      }
      const outcome = await this.#alone(() => this.#deliver(entry));
      failures = outcome.done ? 0 : failures + 1;
      this.failing = !outcome.done;
      this.#changed();
      if (outcome.done) continue;
      this.#firm = outcome.retryAfterMs > 0;
      await this.#alarm.sleep(Math.max(backoff(failures), outcome.retryAfterMs));
      this.#firm = false;
    }
  }

  /** One try. @param {Entry} entry
   * @returns {Promise<{done: boolean, retryAfterMs: number}>} */
  async #deliver(entry) {
    if (await this.#sentElsewhere(entry)) {
      this.#entries.delete(entry.key);
      this.dispatchEvent(new Event('elsewhere'));
      return { done: true, retryAfterMs: 0 };
    }
    const stamp = this.#api.stamp();
    const headers = { 'X-Sfumato-Age': String(this.#ageMs(entry)) };
    const reply = await this.#api.post('answers', entry.body, headers).catch(() => null);
    const outcome = LETS_GO.get(reply?.status ?? 0);
    // A hotel's login page may say 200 as well: only our own words count.
    const said = outcome === 'stored' ? reply?.data?.answer : reply?.data?.code;
    if (!reply || !outcome || said === undefined) {
      if (reply?.data?.code && (reply.status === 404 || reply.status === 410)) this.dispatchEvent(new Event('unknown'));
      return { done: false, retryAfterMs: reply?.retryAfterMs ?? 0 };
    }
    await this.#letGo(entry, outcome, reply.data);
    this.dispatchEvent(new CustomEvent(outcome, { detail: { entry, data: reply.data, stamp } }));
    return { done: true, retryAfterMs: 0 };
  }

  /** @param {Entry} entry
   * @param {string} outcome
   * @param {any} data */
  async #letGo(entry, outcome, data) {
    this.#entries.delete(entry.key);
    // An entry that cannot be removed is sent once more by the next page, and answered with 200.
    await (outcome === 'refused' ? this.#vault?.refuse(entry, data) : this.#vault?.remove(entry.key))?.catch(() => {});
    this.#kept.delete(entry.key);
    this.#channel?.postMessage('sent');
  }

  /** @param {Entry} entry */
  async #sentElsewhere(entry) {
    if (!this.#entries.has(entry.key)) return true;
    if (!this.#kept.has(entry.key)) return false;
    return !(await this.#vault?.has(entry.key).catch(() => true));
  }

  /** Milliseconds since the person pressed submit. The clock on the wall may be set in between, so it is asked only
   * about answers of an earlier page. @param {Entry} entry */
  #ageMs(entry) {
    const age = entry.life === this.#life ? performance.now() - entry.tick : Date.now() - entry.at;
    return Math.max(0, Math.round(age));
  }

  /** Runs `send` while no other tab sends. @template T
   * @param {() => Promise<T>} send
   * @returns {Promise<T>} */
  async #alone(send) {
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
      // A tab asleep with the lock must not keep this one from sending.
      return send();
    } finally {
      clearTimeout(timer);
    }
  }

  #wake() {
    if (!this.#firm) this.#alarm.wake();
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
