/** Typicality: one row of buttons, from not at all typical of the given class to perfectly typical. */

import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.typicality');

/** A form that is one row of numbered radio buttons: a digit chooses its number, `f` the last one. */
export class Scale extends Form {
  connectedCallback() {
    this.addEventListener('change', () => this.changed());
    this.addEventListener('keydown', (event) => this.#stayInside(event));
  }

  /** The number chosen, or null. */
  get chosen() {
    const checked = this.#steps().find((step) => step.checked);
    return checked ? Number(checked.value) : null;
  }

  /** The largest number. */
  get highest() {
    return this.#steps().length - 1;
  }

  missing() {
    return this.chosen === null ? say('missing', { highest: this.highest }) : '';
  }

  status() {
    return this.chosen === null ? say('nothing') : say('chosen', { n: this.chosen, highest: this.highest });
  }

  press(key) {
    const at = key === 'f' ? this.highest : /^[0-9]$/.test(key) ? Number(key) : -1;
    const step = this.#steps()[at];
    if (!step) return false;
    step.focus();
    step.checked = true;
    this.changed();
    return true;
  }

  legend() {
    return [[[`0 … ${Math.min(this.highest, 9)}`], say('keys_number')], [['f'], say('keys_end', { highest: this.highest })]];
  }

  /** Stops at the ends of the scale; native radio buttons would wrap around. */
  #stayInside(event) {
    const at = this.#steps().indexOf(event.target);
    const up = event.key === 'ArrowRight' || event.key === 'ArrowDown';
    const down = event.key === 'ArrowLeft' || event.key === 'ArrowUp';
    if ((up && at === this.highest) || (down && at === 0)) event.preventDefault();
  }

  /** @returns {HTMLInputElement[]} */
  #steps() {
    return [...this.querySelectorAll('.scale input')];
  }
}

class Typicality extends Scale {
  connectedCallback() {
    super.connectedCallback();
    this.one('.told').textContent = this.shown.told.class;
  }

  answer() {
    return this.chosen === null ? null : { typicality: this.chosen / this.highest };
  }

  status() {
    return this.chosen === null ? super.status() : say('said', { name: this.shown.told.class, chosen: super.status() });
  }
}

customElements.define('sfumato-typicality', Typicality);
