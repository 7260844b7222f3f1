/** Pictures: fetched and decoded before they are needed, so that showing one is a matter of one frame. */
export class Pictures {
  /** @type {Map<string, Promise<HTMLImageElement>>} */
  #ready = new Map();

  /** The picture at `url`, decoded; asked again, a failed one is tried anew.
   * @param {string} url
   * @returns {Promise<HTMLImageElement>} */
  load(url) {
    const known = this.#ready.get(url);
    if (known) return known;
    const image = new Image();
    image.src = url;
    image.draggable = false;
    const ready = image.decode().then(() => image);
    this.#ready.set(url, ready);
    ready.catch(() => this.#ready.delete(url));
    return ready;
  }

  /** Begins to fetch the pictures of these trials, and lets go of all others.
   * @param {import('./api.js').Trial[]} trials */
  prepare(trials) {
    const wanted = new Set(trials.flatMap((trial) => trial.pictures ?? []));
    for (const url of this.#ready.keys()) if (!wanted.has(url)) this.#ready.delete(url);
    for (const url of wanted) this.load(url).catch(() => {});
  }
}
