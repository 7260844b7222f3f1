/** Plausible: yes, unsure or no for every class. A class key cycles yes, unsure, no; one key answers no to the rest. */

import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.plausible');

const MARKS = ['yes', 'unsure', 'no'];

class Plausible extends Form {
  /** The last action, as a sentence. */
  #last = '';
  /** Classes that the last "no to the rest" marked, for undo. @type {string[]} */
  #rest = [];

  connectedCallback() {
    this.addEventListener('change', (event) => this.#mark(this.classOf(event.target), event.target.value));
    this.one('.rest').addEventListener('click', () => this.#giveRest());
    this.one('.rest kbd').textContent = this.restKey.toUpperCase();
    this.#show();
  }

  /** The key of "no to the rest", which is not a class key. */
  get restKey() {
    const taken = new Set(this.shown.classes.map((each) => each.key));
    return ['n', '.', '-'].find((key) => !taken.has(key));
  }

  answer() {
    const marks = this.#names().map((name) => [name, this.#markOf(name)]);
    return marks.every(([, mark]) => mark) ? Object.fromEntries(marks) : null;
  }

  missing() {
    const open = this.#open();
    if (!open.length) return '';
    const named = open.slice(0, 3).join(', ');
    return open.length > 3 ? say('missing_more', { names: named, n: open.length - 3 }) : say('missing', { names: named });
  }

  firstMissing() {
    const [name] = this.#open();
    return name === undefined ? null : this.#input(name, 'yes');
  }

  status() {
    const left = this.#open().length;
    const rest = left ? say('left', { n: left, all: this.#names().length }) : say('all_answered');
    return this.#last ? `${this.#last}; ${rest}.` : `${rest}.`;
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
    this.#giveRest();
    return true;
  }

  legend() {
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

  #names() {
    return this.shown.classes.map((each) => each.name);
  }

  #open() {
    return this.#names().filter((name) => !this.#markOf(name));
  }

  #row(name) {
    return this.all('.row').find((row) => row.dataset.class === name);
  }

  #input(name, mark) {
    return this.#row(name).querySelector(`input[value="${mark}"]`);
  }

  #markOf(name) {
    return this.#row(name).querySelector('input:checked')?.value ?? '';
  }

  #mark(name, mark) {
    this.#input(name, mark).checked = true;
    this.#rest = this.#rest.filter((each) => each !== name);
    this.#last = say('said', { name, mark: say(`said_${mark}`) });
    for (const row of this.all('.row')) row.classList.toggle('current', row.dataset.class === name);
    this.#show();
    this.changed();
  }

  /** No to every class not answered yet; a second press undoes it. */
  #giveRest() {
    const open = this.#open();
    if (open.length) {
      for (const name of open) this.#input(name, 'no').checked = true;
      this.#rest = open;
      this.#last = open.length === 1 ? say('no_to', { name: open[0] }) : say('no_to_n', { n: open.length });
    } else if (this.#rest.length) {
      for (const name of this.#rest) this.#input(name, 'no').checked = false;
      this.#last = this.#rest.length === 1 ? say('taken_back', { name: this.#rest[0] }) : say('taken_back_n', { n: this.#rest.length });
      this.#rest = [];
    }
    this.#show();
    this.changed();
  }

  #show() {
    const open = this.#open().length;
    const n = this.#names().length;
    for (const name of this.#names()) {
      this.#row(name).classList.toggle('by-rest', this.#rest.includes(name));
    }
    const button = this.one('.rest');
    button.classList.toggle('spent', !open && !this.#rest.length);
    button.setAttribute('aria-disabled', String(!open && !this.#rest.length));
    this.one('.rest .text').textContent = open === n ? say('rest_all')
      : open ? say('rest_other', { n: open })
        : this.#rest.length ? say('rest_back', { n: this.#rest.length }) : say('rest_done');
  }
}

customElements.define('sfumato-plausible', Plausible);
