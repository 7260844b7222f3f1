/** Memory: small things remembered in this browser for one person; silently forgets where storage is blocked. */
export class Memory {
  #prefix;

  /** @param {string} scope whose memory (`scopeOf` the link) */
  constructor(scope) {
    this.#prefix = `sfumato:${scope}:`;
  }

  /** What was kept under `name`, or null.
   * @param {string} name
   * @returns {string|null} */
  recall(name) {
    try {
      return localStorage.getItem(this.#prefix + name);
    } catch {
      return null;
    }
  }

  /** @param {string} name
   * @param {string} value */
  keep(name, value) {
    try {
      localStorage.setItem(this.#prefix + name, value);
    } catch {
      // Nothing here is worth stopping for: a setting is asked again after a reload.
    }
  }
}
