/** Delays between retries: exponential backoff, and delays that can be ended early. */

const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** The delay after the n-th failure in a row (from 1): 0.5 s, doubled up to 15 s, of which a fifth is random, so that
 * many browsers do not retry at the same moment.
 * @param {number} failures
 * @returns {number} milliseconds */
export function backoff(failures) {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return longest * (0.8 + 0.2 * Math.random());
}

/** Delays that `wake` ends early. */
export class RetryTimer {
  /** @type {Set<() => void>} */
  #sleepers = new Set();

  /** Resolves after `ms`, or at `wake`; without `ms` only at `wake`.
   * @param {number} [ms]
   * @returns {Promise<void>} */
  sleep(ms) {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#sleepers.delete(finish);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(finish, ms);
      this.#sleepers.add(finish);
    });
  }

  wake() {
    for (const finish of [...this.#sleepers]) finish();
  }
}
