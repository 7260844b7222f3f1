/** HTTP requests of the study page. Every call is a POST of JSON to a path below the participant's link. */

import { RetryTimer, backoff } from './retry.js';

/**
 * @typedef {object} Trial
 * @property {string} trial its handle
 * @property {number} number
 * @property {boolean} practice
 * @property {number} question which of the study's questions it asks
 * @property {boolean} deeper whether the deeper form opens after it
 * @property {string} feedback HTML made by the server
 * @property {boolean} judged whether the server reports if the answer is as expected
 * @property {string[]} pictures
 * @property {string[]} texts
 * @property {Record<string, any>} told
 */

/**
 * @typedef {object} Back the redirect to a platform; with fields, a form to post there
 * @property {string} platform
 * @property {string} code
 * @property {string} url
 * @property {Record<string, string>} fields
 */

/**
 * @typedef {object} State the participant's state
 * @property {string} stage
 * @property {number} answered
 * @property {number} wanted
 * @property {number} batch_size
 * @property {boolean} [failed] whether questions about the instructions were just answered wrongly
 * @property {number} [attempts_left]
 * @property {Trial[]} [trials]
 * @property {string} [code]
 * @property {Back} [back] the redirect to the participant's platform
 */

/**
 * @typedef {object} Reply
 * @property {number} status
 * @property {any} data the JSON of the reply, null if there was none
 * @property {number} retryAfterMs 0 if the server did not send one
 */

const TIMEOUT_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 300_000;
// Browsers refuse keepalive bodies beyond 64 KiB in flight together.
const KEEPALIVE_CHARACTERS = 30_000;

/** Thrown when the link is unknown or has expired; the message is the server's error code. */
export class Gone extends Error {}

export class Api {
  #base;
  #timer = new RetryTimer();
  #calls = 0;

  /** Called with true when calls begin to fail, with false when they work again.
   * @type {(failing: boolean) => void} */
  onTrouble = () => {};

  /** @param {string} base the path of the person's link */
  constructor(base) {
    this.#base = base;
    addEventListener('online', () => this.#timer.wake());
  }

  /** A number that increases with every call; of two states, the one with the larger number is newer. */
  stamp() {
    this.#calls += 1;
    return this.#calls;
  }

  /** One call, whatever its outcome; throws if no reply arrived.
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
        // The request continues when the tab is closed.
        keepalive: body.length < KEEPALIVE_CHARACTERS,
        signal: giveUp.signal,
      });
      // The error page of a proxy is not JSON: data stays null.
      const data = await response.json().catch(() => null);
      return { status: response.status, data, retryAfterMs: retryAfter(response.headers.get('Retry-After')) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The state after a call, retried until the server replies; throws `Gone` for an unknown or expired link.
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
      // Refused because another tab has already taken this step: ask for the current state.
      if (reply?.data?.code && reply.status < 500 && reply.status !== 429 && path !== 'state') return this.state('state');
      this.onTrouble(true);
      await this.#timer.sleep(Math.max(backoff(failures), reply?.retryAfterMs ?? 0));
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
