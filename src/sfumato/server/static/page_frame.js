/** The frame around every page: progress bar, saving status, notices and announcements. */

import { byId } from './dom.js';
import { say } from './texts.js';

export class PageFrame {
  #main = byId('page');
  #notice = byId('notice');

  constructor() {
    byId('notice-close').addEventListener('click', () => (this.#notice.hidden = true));
  }

  /** Shows a page and moves the focus to its heading.
   * @param {DocumentFragment} fragment
   * @param {string} name for tests and styles */
  show(fragment, name) {
    this.#main.replaceChildren(fragment);
    this.#main.dataset.page = name;
    scrollTo(0, 0);
    const heading = this.#main.querySelector('h1');
    if (heading) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
  }

  /** The name of the page shown. */
  get page() {
    return this.#main.dataset.page ?? '';
  }

  /** Announces a sentence to screen readers (polite).
   * @param {string} sentence */
  announce(sentence) {
    byId('status').textContent = sentence;
  }

  /** Announces the number of the current trial. */
  announceProgress() {
    this.announce(byId('progress-text').textContent ?? '');
  }

  /** Shows a notice until it is closed or replaced; '' removes it.
   * @param {string} sentence */
  notice(sentence) {
    byId('notice-text').textContent = sentence;
    this.#notice.hidden = !sentence;
  }

  /** @param {number} current the trial shown, from 1; 0 hides the bar
   * @param {number} wanted
   * @param {boolean} practice */
  progress(current, wanted, practice) {
    byId('progress').hidden = !current && !practice;
    const text = practice ? say('frame.practice') : say('frame.n_of', { n: current, wanted });
    byId('progress-text').textContent = text;
    const bar = /** @type {HTMLProgressElement} */ (byId('progress-bar'));
    bar.hidden = practice;
    bar.max = Math.max(wanted, 1);
    bar.value = Math.max(current - 1, 0);
    bar.setAttribute('aria-valuetext', text);
  }

  /** @param {import('./outbox.js').Outbox} outbox
   * @param {boolean} any whether any answer was given */
  saved(outbox, any) {
    const waiting = outbox.waiting.length;
    const line = byId('saved');
    const trouble = waiting > 0 && outbox.failing;
    line.classList.toggle('waiting', trouble);
    if (!waiting) line.textContent = any ? say('frame.saved') : '';
    else if (!trouble) line.textContent = say('frame.saving');
    else line.textContent = say('frame.waiting', { n: waiting });
  }

  /** Which tools in the header are visible.
   * @param {{help: boolean, stop: boolean}} tools */
  tools({ help, stop }) {
    byId('help').hidden = !help;
    byId('stop').hidden = !stop;
  }
}
