/**
 * Mixture: the share of the first of two classes in a mixed picture, and how sure the participant is.
 *
 * The left end of the bar is 100 percent of the second class, the right end 100 percent of the first.
 * Digits 0 to 9 mean 0 to 90 percent and `f` means 100 percent: the first such key sets the share, every further one
 * how sure. The left and right arrows change the last value by one step; Backspace removes it.
 * With the setting `drag`, press on the bar, drag, and release at the split.
 */
import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.mixture');

/** @typedef {'share'|'confidence'} Question */

class Mixture extends Form {
  /** In percent. @type {Record<Question, number|null>} */
  #percent = { share: null, confidence: null };

  begin() {
    this.addEventListener('change', (event) => {
      const [question, percent] = (/** @type {HTMLElement} */ (event.target).dataset.name ?? '').split(':');
      this.#set(/** @type {Question} */ (question), Number(percent));
    });
    for (const box of this.#boxes('share')) {
      const percent = Number(box.dataset.name?.split(':')[1]);
      box.setAttribute('aria-label', this.#split(percent));
    }
    if (this.shown.settings.drag) this.#watchDrags();
    this.#draw();
  }

  answer() {
    const { share, confidence } = this.#percent;
    return share === null || confidence === null ? null : { share: share / 100, confidence: confidence / 100 };
  }

  missing() {
    if (this.#percent.share === null) return say('need_share', { first: this.#first });
    return this.#percent.confidence === null ? say('need_sure') : '';
  }

  status() {
    const { share, confidence } = this.#percent;
    const seen = share === null ? say('no_split') : this.#split(share);
    return `${seen}; ${confidence === null ? say('not_said') : say('percent_sure', { n: confidence })}.`;
  }

  /** @param {string} key */
  press(key) {
    const { share, confidence } = this.#percent;
    const last = confidence !== null ? 'confidence' : share !== null ? 'share' : null;
    if (/^[0-9f]$/.test(key)) this.#set(share === null ? 'share' : 'confidence', key === 'f' ? 100 : 10 * Number(key));
    else if (key === 'backspace' && last) this.#set(last, null);
    else if ((key === 'arrowleft' || key === 'arrowright') && last) {
      const step = last === 'share' && this.shown.settings.drag ? 1 : 10;
      const moved = (this.#percent[last] ?? 0) + (key === 'arrowleft' ? -step : step);
      this.#set(last, Math.min(Math.max(moved, 0), 100));
    } else return false;
    return true;
  }

  firstMissing() {
    return this.#boxes(this.#percent.share === null ? 'share' : 'confidence')[0] ?? null;
  }

  /** @returns {[string[], string][]} */
  legend() {
    return [
      [['0', '9'], say('keys_number', { first: this.#first || say('the_first') })],
      [['f'], say('keys_end')],
      [['arrowleft', 'arrowright'], say('keys_move')],
      [['backspace'], say('keys_back')],
    ];
  }

  /** @param {number} percent */
  #split(percent) {
    return say('split', { n: percent, rest: 100 - percent, first: this.#first, second: this.#second });
  }

  get #first() {
    return String(this.shown.told.classes?.[0] ?? '');
  }

  get #second() {
    return String(this.shown.told.classes?.[1] ?? '');
  }

  /** @param {Question} question
   * @param {number|null} percent */
  #set(question, percent) {
    this.#percent[question] = percent;
    this.#draw();
    this.changed();
  }

  /** @param {Question} question
   * @returns {HTMLInputElement[]} */
  #boxes(question) {
    return [.../** @type {NodeListOf<HTMLInputElement>} */ (this.querySelectorAll(`input[name="${question}"]`))];
  }

  #draw() {
    for (const question of /** @type {Question[]} */ (['share', 'confidence'])) {
      const percent = this.#percent[question];
      for (const box of this.#boxes(question)) box.checked = box.dataset.name === `${question}:${percent}`;
      const bar = /** @type {HTMLElement} */ (this.one(`[data-question="${question}"] .mix`));
      bar.classList.toggle('set', percent !== null);
      bar.style.setProperty('--at', `${percent ?? 0}%`);
    }
    const { share, confidence } = this.#percent;
    const ends = /** @type {[string, string, number|null][]} */ ([
      ['first', this.#first, share],
      ['second', this.#second, share === null ? null : 100 - share],
    ]);
    for (const [side, name, percent] of ends) {
      const end = /** @type {HTMLElement} */ (this.one(`.end.${side}`));
      end.textContent = percent === null ? name : `${name} ${percent} %`;
      end.dataset.colour = this.all('li').find((each) => each.dataset.class === name)?.dataset.colour;
      const bar = /** @type {HTMLElement} */ (this.one('[data-question="share"] .mix'));
      bar.style.setProperty(`--${side}`, `var(--class-${end.dataset.colour})`);
    }
    for (const each of this.all('.first-name')) each.textContent = this.#first;
    for (const each of this.all('.second-name')) each.textContent = this.#second;
    const sure = this.one('.sure');
    if (sure) sure.textContent = confidence === null ? '' : `${confidence} %`;
  }

  #watchDrags() {
    const scale = /** @type {HTMLElement} */ (this.one('[data-question="share"] .scale'));
    const bar = /** @type {HTMLElement} */ (scale.querySelector('.mix'));
    /** @type {{x: number, before: number|null, moved: boolean}|null} */
    let drag = null;
    scale.addEventListener('pointerdown', (event) => {
      if (event.button === 0) drag = { x: event.clientX, before: this.#percent.share, moved: false };
    });
    scale.addEventListener('pointermove', (event) => {
      if (!drag || (!drag.moved && Math.abs(event.clientX - drag.x) < 6)) return;
      if (!drag.moved) scale.setPointerCapture(event.pointerId);
      drag.moved = true;
      const { left, width } = bar.getBoundingClientRect();
      this.#percent.share = Math.round(100 * Math.min(Math.max((event.clientX - left) / width, 0), 1));
      this.#draw();
    });
    scale.addEventListener('pointerup', () => {
      if (drag?.moved) {
        this.changed();
        // The click that follows a drag is part of it.
        const swallow = (/** @type {Event} */ event) => {
          event.preventDefault();
          event.stopPropagation();
        };
        scale.addEventListener('click', swallow, { capture: true, once: true });
        setTimeout(() => scale.removeEventListener('click', swallow, { capture: true }));
      }
      drag = null;
    });
    scale.addEventListener('pointercancel', () => {
      if (drag?.moved) this.#set('share', drag.before);
      drag = null;
    });
  }
}

customElements.define('sfumato-mixture', Mixture);
