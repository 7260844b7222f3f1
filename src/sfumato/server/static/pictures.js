/** Cache of pictures, loaded and decoded before they are needed, so that each is shown within one frame. */
export class Pictures {
  /** @type {Map<string, Promise<HTMLImageElement>>} */
  #ready = new Map();

  /** The decoded picture at `url`; a picture that failed is loaded again at the next call.
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

  /** Starts to load the pictures of these trials and removes all others from the cache.
   * @param {import('./api.js').Trial[]} trials */
  prepare(trials) {
    const wanted = new Set(trials.flatMap((trial) => trial.pictures ?? []));
    for (const url of this.#ready.keys()) if (!wanted.has(url)) this.#ready.delete(url);
    for (const url of wanted) this.load(url).catch(() => {});
  }
}
