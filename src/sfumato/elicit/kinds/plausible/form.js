/** Plausible: yes, unsure or no for every class. A class key says yes, again unsure, again no; one key gives the rest. */

import { Form } from '/static/form.js';

const MARKS = ['yes', 'unsure', 'no'];

class Plausible extends Form {
  /** The last thing done, in words. */
  #last = '';
  /** Names of the classes that the last "no to the rest" marked, so that it can be taken back. @type {string[]} */
  #rest = [];

  connectedCallback() {
    this.addEventListener('change', (event) => this.#mark(this.classOf(event.target), event.target.value));
    this.one('.rest').addEventListener('click', () => this.#giveRest());
    this.one('.rest kbd').textContent = this.restKey.toUpperCase();
    this.#show();
  }

  /** The key of "no to the rest": one that is no class's. */
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
    return `Still to answer: ${open.length > 3 ? `${named} and ${open.length - 3} more` : named}.`;
  }

  firstMissing() {
    const [name] = this.#open();
    return name === undefined ? null : this.#input(name, 'yes');
  }

  status() {
    const left = this.#open().length;
    const rest = left ? `${left} of ${this.#names().length} classes to answer` : 'every class is answered';
    return this.#last ? `${this.#last}; ${rest}.` : `${rest}.`;
  }

  press(key, event) {
    const pressed = this.shown.classes.find((each) => each.key === key);
    if (pressed) {
      // Shift goes the other way round: no, unsure, yes.
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
      ...classes.map(([keys, name]) => [keys, `${name}: yes`]),
      ...(key ? [[[key, key], `${first}: unsure`], [[key, key, key], `${first}: no`], [['shift', key], 'the other way round: no, unsure, yes']] : []),
      [[this.restKey], 'no to every class not answered yet; again: take it back'],
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
    this.#last = `${name}: ${mark}`;
    for (const row of this.all('.row')) row.classList.toggle('current', row.dataset.class === name);
    this.#show();
    this.changed();
  }

  /** No to every class not answered yet; a second time takes those back. */
  #giveRest() {
    const open = this.#open();
    if (open.length) {
      for (const name of open) this.#input(name, 'no').checked = true;
      this.#rest = open;
      this.#last = `No to ${open.length === 1 ? open[0] : `${open.length} classes`}`;
    } else if (this.#rest.length) {
      for (const name of this.#rest) this.#input(name, 'no').checked = false;
      this.#last = `Taken back: no to ${this.#rest.length === 1 ? this.#rest[0] : `${this.#rest.length} classes`}`;
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
    this.one('.rest .text').textContent = open === n ? 'No to all'
      : open ? `No to the other ${open}`
        : this.#rest.length ? `Take back ${this.#rest.length} × no` : 'Every class is answered';
  }
}

customElements.define('sfumato-plausible', Plausible);
