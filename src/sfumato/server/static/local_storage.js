/** Settings of one participant in the browser's localStorage; does nothing if storage is blocked. */
export class LocalStorage {
  #prefix;

  /** @param {string} scope hash of the link (`scopeOf`) */
  constructor(scope) {
    this.#prefix = `sfumato:${scope}:`;
  }

  /** The value of `name`, or null.
   * @param {string} name
   * @returns {string|null} */
  get(name) {
    try {
      return localStorage.getItem(this.#prefix + name);
    } catch {
      return null;
    }
  }

  /** @param {string} name
   * @param {string} value */
  set(name, value) {
    try {
      localStorage.setItem(this.#prefix + name, value);
    } catch {
      // A setting that cannot be saved is lost after a reload; the page continues.
    }
  }

  /** Removes all settings of the participant. */
  clear() {
    try {
      const mine = Object.keys(localStorage).filter((key) => key.startsWith(this.#prefix));
      for (const key of mine) localStorage.removeItem(key);
    } catch {
      // Blocked storage holds nothing.
    }
  }
}
