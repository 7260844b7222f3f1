/** Standing: where the person is, from the server's last word and from what was answered here since. */

export class Standing {
  /** @type {import('./api.js').State|null} */
  state = null;

  #stamp = 0;
  #outbox;
  /** Trials answered in this page: a state on its way may still list them. @type {Set<string>} */
  #answered = new Set();
  /** Trials to come back to when there is nothing else. @type {Set<string>} */
  #later = new Set();

  /** @param {import('./outbox.js').Outbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox;
  }

  /** Takes a state unless a newer one is known; whether it did.
   * @param {import('./api.js').State} state
   * @param {number} stamp of the call that brought it
   * @returns {boolean} */
  take(state, stamp) {
    if (stamp < this.#stamp) return false;
    this.#stamp = stamp;
    this.state = state;
    return true;
  }

  /** The trial to show now, or null.
   * @returns {import('./api.js').Trial|null} */
  get trial() {
    const open = this.#listed.filter((trial) => !this.given(trial.trial));
    return open.find((trial) => !this.#later.has(trial.trial)) ?? open[0] ?? null;
  }

  /** How many trials that count are answered: those the server counts, and those given here that it still lists. */
  get done() {
    const given = this.#listed.filter((trial) => !trial.practice && this.given(trial.trial));
    return (this.state?.answered ?? 0) + given.length;
  }

  /** Whether a batch has just been completed and another follows, not just the checks that lay between. */
  get betweenBatches() {
    const { batch_size: size = 0, wanted = 0 } = this.state ?? {};
    return size > 0 && this.done > 0 && this.done + size <= wanted && this.done % size === 0;
  }

  /** Whether any answer was ever given. */
  get begun() {
    return this.#answered.size > 0 || (this.state?.answered ?? 0) > 0;
  }

  /** Whether the server lists a trial as this person's to answer.
   * @param {string} handle */
  lists(handle) {
    return this.#listed.some((trial) => trial.trial === handle);
  }

  /** Whether a trial has its answer, here or on its way.
   * @param {string} handle */
  given(handle) {
    return this.#answered.has(handle) || this.#outbox.waiting.some((entry) => entry.trial === handle);
  }

  /** @param {string} handle */
  answer(handle) {
    this.#answered.add(handle);
  }

  /** The answer to a trial was refused: it is open again.
   * @param {string} handle */
  reopen(handle) {
    this.#answered.delete(handle);
  }

  /** @param {string} handle */
  postpone(handle) {
    this.#later.add(handle);
  }

  get #listed() {
    return this.state?.trials ?? [];
  }
}
