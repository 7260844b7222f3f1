/** Records how one trial was answered, in milliseconds from the first painted frame. */

const MOST_EVENTS = 500;
const IDLE_MS = 30_000;
const RECORDED = ['keydown', 'pointerdown', 'pointerup', 'click', 'input', 'focusin'];
const ACTIVITY = [...RECORDED, 'pointermove', 'wheel', 'touchmove'];

/**
 * @typedef {object} AnswerRecord
 * @property {number} elapsed_ms
 * @property {[number, number][]} hidden periods in which the page was not visible
 * @property {[number, number][]} idle periods of more than 30 s without input; they may overlap hidden ones
 * @property {[number, string, string, string][]} events time, type, nearest data-name, key or value
 * @property {'mouse'|'touch'|'pen'|'none'} pointer the last used
 * @property {[number, number, number]} viewport width, height, device pixels per pixel
 * @property {Record<string, string>} keys class -> key
 * @property {string[]} order the classes or sides in the order shown
 * @property {boolean} shortcuts whether they were on
 * @property {boolean} resumed whether the trial had been shown before (reload, other device page)
 * @property {number} cut number of events not recorded beyond the first 500
 * @property {''|'asked'|'unsure'} opened how the deeper form opened after the first form
 * @property {object|null} first the answer in the first form, before the deeper form opened
 */

export class Recorder {
  #start;
  #last;
  /** @type {number|null} */
  #hiddenFrom = null;
  /** @type {[number, number][]} */
  #hidden = [];
  /** @type {[number, number][]} */
  #idle = [];
  /** @type {[number, string, string, string][]} */
  #events = [];
  #cut = 0;
  /** @type {'mouse'|'touch'|'pen'|'none'} */
  #pointer = 'none';
  #listening = new AbortController();

  /** Starts to record. @param {number} start performance time of the first painted frame */
  constructor(start) {
    this.#start = start;
    this.#last = start;
    const options = { capture: true, passive: true, signal: this.#listening.signal };
    for (const type of ACTIVITY) document.addEventListener(type, (event) => this.#active(event), options);
    document.addEventListener('visibilitychange', () => this.#turned(), options);
    if (document.hidden) this.#hiddenFrom = 0;
  }

  /** Stops and returns the record.
   * @param {Pick<AnswerRecord, 'keys'|'order'|'shortcuts'|'resumed'|'opened'|'first'>} known
   * @returns {AnswerRecord} */
  finish(known) {
    this.#listening.abort();
    const elapsed = this.#ms(performance.now());
    this.#endIdle(elapsed);
    if (this.#hiddenFrom !== null) this.#hidden.push([this.#hiddenFrom, elapsed]);
    return {
      elapsed_ms: elapsed,
      hidden: this.#hidden,
      idle: this.#idle,
      events: this.#events,
      pointer: this.#pointer,
      viewport: [innerWidth, innerHeight, Math.round(devicePixelRatio * 100) / 100],
      ...known,
      cut: this.#cut,
    };
  }

  /** Stops without a result. */
  abandon() {
    this.#listening.abort();
  }

  /** @param {Event} event */
  #active(event) {
    const at = this.#ms(event.timeStamp);
    this.#endIdle(at);
    this.#last = event.timeStamp;
    if (event instanceof PointerEvent && (event.type === 'pointerdown' || event.pointerType === 'mouse')) {
      this.#pointer = /** @type {any} */ (event.pointerType) || this.#pointer;
    }
    if (!RECORDED.includes(event.type)) return;
    if (this.#events.length >= MOST_EVENTS) {
      this.#cut += 1;
      return;
    }
    const type = event.type === 'focusin' ? 'focus' : event.type;
    this.#events.push([at, type, nameOf(event.target), valueOf(event)]);
  }

  #turned() {
    const now = this.#ms(performance.now());
    if (document.hidden) {
      this.#hiddenFrom ??= now;
    } else if (this.#hiddenFrom !== null) {
      this.#hidden.push([this.#hiddenFrom, now]);
      this.#hiddenFrom = null;
    }
  }

  /** @param {number} now */
  #endIdle(now) {
    const last = this.#ms(this.#last);
    if (now - last > IDLE_MS) this.#idle.push([last, now]);
  }

  /** @param {number} time */
  #ms(time) {
    return Math.max(0, Math.round((time - this.#start) * 10) / 10);
  }
}

/** Resolves with the time of the frame after the next paint, when the current content is visible.
 * @returns {Promise<number>} */
export function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  });
}

/** @param {EventTarget|null} target */
function nameOf(target) {
  const named = target instanceof Element ? target.closest('[data-name]') : null;
  return named instanceof HTMLElement ? named.dataset.name ?? '' : '';
}

/** @param {Event} event */
function valueOf(event) {
  if (event instanceof KeyboardEvent) return event.key;
  if (event instanceof PointerEvent && event.type !== 'click') return event.pointerType;
  const target = event.target;
  if (event.type !== 'input' || !(target instanceof HTMLInputElement)) return '';
  return target.type === 'checkbox' ? String(target.checked) : target.value.slice(0, 100);
}
