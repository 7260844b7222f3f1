/** Waiting: pauses that can be cut short, and how long they grow while something keeps failing. */

const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** How long to wait after the n-th failure in a row (from 1): 0.5 s doubling to 15 s, a fifth of it at random so that
 * a room of browsers does not come back at the same moment.
 * @param {number} failures
 * @returns {number} milliseconds */
export function backoff(failures) {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return longest * (0.8 + 0.2 * Math.random());
}

/** Pauses that `wake` ends early. */
export class Alarm {
  /** @type {Set<() => void>} */
  #sleepers = new Set();

  /** Resolves after `ms` (never by itself without), or at `wake`.
   * @param {number} [ms]
   * @returns {Promise<void>} */
  sleep(ms) {
    return new Promise((resolve) => {
      const rise = () => {
        clearTimeout(timer);
        this.#sleepers.delete(rise);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(rise, ms);
      this.#sleepers.add(rise);
    });
  }

  wake() {
    for (const rise of [...this.#sleepers]) rise();
  }
}
