/** Plausible: yes, unsure or no for every class. A class key cycles yes, unsure, no; one key answers no to the rest. */

import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

/**
 * A form with a row per class, and a button that gives all remaining classes the same answer; a second press undoes it.
 * Subclasses define `texts` (the table of their sentences), `restText` (the sentence for one of the rest), `doneText`,
 * `isSet`, `setRest`, `clearRest` and `firstControl`. Also used by sliders.
 */
export class ClassRows extends Form {
  /** The last action, as a sentence. */
  last = '';
  /** Classes that the last press of the button set, for undo. @type {string[]} */
  rest = [];

  connectedCallback() {
    this.one('.rest').addEventListener('click', () => this.giveRest());
    this.one('.rest kbd').textContent = this.restKey.toUpperCase();
    this.showRest();
  }

  /** A sentence of this form. */
  get say() {
    return sayer(this.texts);
  }

  /** The key of the button. */
  get restKey() {
    return this.freeKey(['n', '.', '-']);
  }

  /** The first of these keys that is not a class key. */
  freeKey(keys) {
    const taken = new Set(this.shown.classes.map((each) => each.key));
    return keys.find((key) => !taken.has(key));
  }

  names() {
    return this.shown.classes.map((each) => each.name);
  }

  open() {
    return this.names().filter((name) => !this.isSet(name));
  }

  row(name) {
    return this.all('.row').find((row) => row.dataset.class === name);
  }

  missing() {
    const open = this.open();
    if (!open.length) return '';
    const names = open.slice(0, 3).join(', ');
    return open.length > 3 ? this.say('missing_more', { names, n: open.length - 3 }) : this.say('missing', { names });
  }

  firstMissing() {
    const [name] = this.open();
    return name === undefined ? null : this.firstControl(name);
  }

  status() {
    const left = this.open().length;
    const rest = left ? this.say('left', { n: left, all: this.names().length }) : this.say(this.doneText);
    return this.last ? `${this.last}; ${rest}.` : `${rest}.`;
  }

  giveRest() {
    const open = this.open();
    if (open.length) {
      for (const name of open) this.setRest(name);
      this.last = this.#sayOf(this.restText, open);
      this.rest = open;
    } else if (this.rest.length) {
      for (const name of this.rest) this.clearRest(name);
      this.last = this.#sayOf('taken_back', this.rest);
      this.rest = [];
    }
    this.showRest();
    this.changed();
  }

  showRest() {
    const open = this.open().length;
    const spent = !open && !this.rest.length;
    const button = this.one('.rest');
    button.classList.toggle('spent', spent);
    button.setAttribute('aria-disabled', String(spent));
    this.one('.rest .text').textContent = open === this.names().length ? this.say('rest_all')
      : open ? this.say('rest_other', { n: open })
        : this.rest.length ? this.say('rest_back', { n: this.rest.length }) : this.say('rest_done');
  }

  /** A sentence about one class, or about a number of classes. */
  #sayOf(key, names) {
    return names.length === 1 ? this.say(key, { name: names[0] }) : this.say(`${key}_n`, { n: names.length });
  }
}

const MARKS = ['yes', 'unsure', 'no'];

class Plausible extends ClassRows {
  texts = 'kinds.plausible';
  restText = 'no_to';
  doneText = 'all_answered';

  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('change', (event) => this.#mark(this.classOf(event.target), event.target.value));
  }

  answer() {
    const marks = this.names().map((name) => [name, this.#markOf(name)]);
    return marks.every(([, mark]) => mark) ? Object.fromEntries(marks) : null;
  }

  isSet(name) {
    return this.#markOf(name) !== '';
  }

  firstControl(name) {
    return this.#input(name, 'yes');
  }

  setRest(name) {
    this.#input(name, 'no').checked = true;
  }

  clearRest(name) {
    this.#input(name, 'no').checked = false;
  }

  showRest() {
    super.showRest();
    for (const name of this.names()) this.row(name).classList.toggle('by-rest', this.rest.includes(name));
  }

  press(key, event) {
    const pressed = this.shown.classes.find((each) => each.key === key);
    if (pressed) {
      // Shift reverses the order: no, unsure, yes.
      const way = event.shiftKey ? -1 : 1;
      const at = MARKS.indexOf(this.#markOf(pressed.name));
      const next = at < 0 && way < 0 ? 'no' : MARKS[(at + way + 3) % 3];
      this.#input(pressed.name, next).focus();
      this.#mark(pressed.name, next);
      return true;
    }
    if (key !== this.restKey) return false;
    this.giveRest();
    return true;
  }

  legend() {
    const { say } = this;
    const classes = super.legend();
    const [[key], first] = classes[0] ?? [[], ''];
    return [
      ...classes.map(([keys, name]) => [keys, say('keys_yes', { name })]),
      ...(key ? [
        [[key, key], say('keys_unsure', { name: first })],
        [[key, key, key], say('keys_no', { name: first })],
        [['shift', key], say('keys_back')],
      ] : []),
      [[this.restKey], say('keys_rest')],
    ];
  }

  #input(name, mark) {
    return this.row(name).querySelector(`input[value="${mark}"]`);
  }

  #markOf(name) {
    return this.row(name).querySelector('input:checked')?.value ?? '';
  }

  #mark(name, mark) {
    this.#input(name, mark).checked = true;
    this.rest = this.rest.filter((each) => each !== name);
    this.last = this.say('said', { name, mark: this.say(`said_${mark}`) });
    for (const row of this.all('.row')) row.classList.toggle('current', row.dataset.class === name);
    this.showRest();
    this.changed();
  }
}

customElements.define('sfumato-plausible', Plausible);
