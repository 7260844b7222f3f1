/**
 * An outbox that is wrong on purpose: after the first request that fails it stops sending (as JATOS did), and what
 * waits is forgotten. The page sees an empty queue. Tests put it in the place of /static/outbox.js, to see
 * that they would notice.
 */
export class Outbox extends EventTarget {
  failing = false;
  fragile = false;
  waiting = [];
  #api;
  #stopped = false;

  constructor(api) {
    super();
    this.#api = api;
  }

  static async open(api) {
    return new Outbox(api);
  }

  async removeRefused() {}

  async add(key, trial, practice, body) {
    if (this.#stopped) return;
    const entry = { key, trial, practice, body };
    this.waiting.push(entry);
    this.dispatchEvent(new Event('change'));
    const stamp = this.#api.stamp();
    const reply = await this.#api.post('answers', body).catch(() => null);
    this.waiting = [];
    this.#stopped = !reply?.data?.answer;
    this.dispatchEvent(new Event('change'));
    if (!this.#stopped) this.dispatchEvent(new CustomEvent('stored', { detail: { entry, data: reply.data, stamp } }));
  }
}
