/** The participant's state: the last state from the server and the answers given in this page since then. */

export class ParticipantState {
  /** @type {import('./api.js').State|null} */
  state = null;

  #stamp = 0;
  #outbox;
  /** Trials answered in this page; a reply that is still in transit may list them. @type {Set<string>} */
  #answered = new Set();
  /** Trials to show when there is nothing else. @type {Set<string>} */
  #later = new Set();

  /** @param {import('./outbox.js').Outbox} outbox */
  constructor(outbox) {
    this.#outbox = outbox;
  }

  /** Sets the state unless a newer one is known; returns whether it did.
   * @param {import('./api.js').State} state
   * @param {number} stamp of the API call
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

  /** The number of answered trials without practice: those the server counts, and those answered here that it lists. */
  get done() {
    const given = this.#listed.filter((trial) => !trial.practice && this.given(trial.trial));
    return (this.state?.answered ?? 0) + given.length;
  }

  /** Whether a part has just been completed and another follows; the parts are equal, except that the last may be shorter. */
  get betweenBatches() {
    const { batch_size: size = 0, wanted = 0 } = this.state ?? {};
    return size > 0 && this.done > 0 && this.done < wanted && this.done % size === 0;
  }

  /** Whether any answer was given. */
  get begun() {
    return this.#answered.size > 0 || (this.state?.answered ?? 0) > 0;
  }

  /** Whether the server lists a trial for this participant.
   * @param {string} handle */
  lists(handle) {
    return this.#listed.some((trial) => trial.trial === handle);
  }

  /** Whether a trial was answered in this page or its answer is in the outbox.
   * @param {string} handle */
  given(handle) {
    return this.#answered.has(handle) || this.#outbox.waiting.some((entry) => entry.trial === handle);
  }

  /** @param {string} handle */
  answer(handle) {
    this.#answered.add(handle);
  }

  /** Marks a trial as unanswered after its answer was refused.
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
