/** Triplet: one item above, two below; which of the two is more similar to it? The left one varies between trials. */

import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.triplet');

class Triplet extends Form {
  connectedCallback() {
    const sides = this.all('.side');
    if (isOdd(this.shown.trial)) sides.reverse();
    this.one('.two').append(...sides);
    for (const [i, side] of sides.entries()) {
      side.querySelector('.text').textContent = say(['left', 'right'][i]);
      side.querySelector('kbd').textContent = ['←', '→'][i];
    }
    this.order = this.#inputs().map((input) => input.value);
    this.addEventListener('change', () => this.changed());
    // Arrow keys choose their side; native radio buttons would wrap around.
    this.one('.two').addEventListener('keydown', (event) => {
      if (/^Arrow(Left|Right)$/.test(event.key) && this.press(event.key.toLowerCase())) event.preventDefault();
    });
  }

  answer() {
    const closer = this.#inputs().find((input) => input.checked)?.value;
    return closer ? { closer } : null;
  }

  missing() {
    return this.answer() ? '' : say('missing');
  }

  status() {
    const at = this.#inputs().findIndex((input) => input.checked);
    return say(['nothing', 'left_chosen', 'right_chosen'][at + 1]);
  }

  press(key) {
    const input = this.#inputs()[{ arrowleft: 0, 1: 0, arrowright: 1, 2: 1 }[key] ?? -1];
    if (!input) return false;
    input.focus();
    input.checked = true;
    this.changed();
    return true;
  }

  legend() {
    return [[['arrowleft'], say('keys_left')], [['arrowright'], say('keys_right')]];
  }

  /** The two radio buttons, left to right. @returns {HTMLInputElement[]} */
  #inputs() {
    return [...this.querySelectorAll('.side input')];
  }
}

/** Whether the hash of a text (FNV-1a) is odd: a random order that is the same each time the trial is shown. */
function isOdd(text) {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193);
  return ((hash >>> 16) & 1) === 1;
}

customElements.define('sfumato-triplet', Triplet);
