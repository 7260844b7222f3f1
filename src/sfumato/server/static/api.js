/** Api: the server as this person's page sees it. Every call is a POST of JSON below the person's link. */

import { Alarm, backoff } from './waiting.js';

/**
 * @typedef {object} Trial
 * @property {string} trial its handle
 * @property {number} number
 * @property {boolean} practice
 * @property {number} question which of the study's questions it asks
 * @property {boolean} deeper whether the deeper form opens after it
 * @property {string} feedback HTML made by the server
 * @property {boolean} judged whether the server says of the answer if it is as expected
 * @property {string[]} pictures
 * @property {string[]} texts
 * @property {Record<string, any>} told
 */

/**
 * @typedef {object} Back the way back to a platform; with fields, a form to be posted there
 * @property {string} platform
 * @property {string} code
 * @property {string} url
 * @property {Record<string, string>} fields
 */

/**
 * @typedef {object} State where this person stands
 * @property {string} stage
 * @property {number} answered
 * @property {number} wanted
 * @property {number} batch_size
 * @property {number[]} [wrong]
 * @property {number} [attempts_left]
 * @property {Trial[]} [trials]
 * @property {string} [code]
 * @property {Back} [back] the way back to the platform they came from
 */

/**
 * @typedef {object} Reply
 * @property {number} status
 * @property {any} data the JSON of the answer, null where there was none
 * @property {number} retryAfterMs 0 where the server did not say
 */

const TIMEOUT_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 300_000;
// Browsers refuse keepalive bodies beyond 64 KiB in flight together.
const KEEPALIVE_CHARACTERS = 30_000;

/** Thrown when the server does not know this link, or no longer; its message is the server's code. */
export class Gone extends Error {}

export class Api {
  #base;
  #alarm = new Alarm();
  #calls = 0;

  /** Called with true when calls begin to fail, with false when they work again.
   * @type {(failing: boolean) => void} */
  onTrouble = () => {};

  /** @param {string} base the path of the person's link */
  constructor(base) {
    this.#base = base;
    addEventListener('online', () => this.#alarm.wake());
  }

  /** A number that grows with every call: of two states the one asked for later is the newer. */
  stamp() {
    this.#calls += 1;
    return this.#calls;
  }

  /** One call, whatever its outcome; throws where no answer came.
   * @param {string} path
   * @param {string} body exact text to send
   * @param {Record<string, string>} [headers]
   * @returns {Promise<Reply>} */
  async post(path, body, headers = {}) {
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), TIMEOUT_MS);
    try {
      const response = await fetch(`${this.#base}/api/${path}`, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json', ...headers },
        cache: 'no-store',
        redirect: 'error',
        // An answer on its way still arrives when the tab is closed.
        keepalive: body.length < KEEPALIVE_CHARACTERS,
        signal: giveUp.signal,
      });
      // A proxy's error page is no answer of ours: data stays null.
      const data = await response.json().catch(() => null);
      return { status: response.status, data, retryAfterMs: retryAfter(response.headers.get('Retry-After')) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The state after a call, tried until the server answers; throws `Gone` for a link it does not know.
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<{state: State, stamp: number}>} */
  async state(path, body = {}) {
    for (let failures = 1; ; failures += 1) {
      const stamp = this.stamp();
      const reply = await this.post(path, JSON.stringify(body)).catch(() => null);
      const state = reply?.data?.state ?? reply?.data;
      if (state?.stage) {
        this.onTrouble(false);
        return { state, stamp };
      }
      if (reply?.data?.code && (reply.status === 404 || reply.status === 410)) throw new Gone(reply.data.code);
      // Refused for being out of step (another tab went ahead): where do we stand?
      if (reply?.data?.code && reply.status < 500 && reply.status !== 429 && path !== 'state') return this.state('state');
      this.onTrouble(true);
      await this.#alarm.sleep(Math.max(backoff(failures), reply?.retryAfterMs ?? 0));
    }
  }
}

/** Milliseconds that a Retry-After header asks for (seconds or a date), at most five minutes.
 * @param {string|null} header
 * @returns {number} */
function retryAfter(header) {
  if (!header) return 0;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : 0;
}
