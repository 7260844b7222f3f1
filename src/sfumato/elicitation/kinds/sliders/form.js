/**
 * Sliders: how well each class fits, 0 to 100 %. A slider has no thumb until it has a value. A class key focuses its
 * slider, a digit then sets the tens and one key sets 100 %; one key sets every remaining slider to 0.
 */

import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.sliders');

/** Distance before a touch becomes a drag: a shorter one may be the start of a scroll. */
const SLACK_PX = 8;
/** Distance from the end of the track to the center of the thumb at 0 and at 100 %. */
const MARGIN_PX = 14;

class Sliders extends Form {
  /** Percent per class, for sliders that are set. @type {Map<string, number>} */
  #values = new Map();
  /** Classes that the last "rest" set, for undo. @type {string[]} */
  #rest = [];
  /** The class whose slider the keys set. */
  #current = '';
  /** Whether a class key was just pressed, so that a digit is a value and not a class key. */
  #waits = false;
  #last = '';
  /** @type {{name: string, x: number, moving: boolean}|null} */
  #drag = null;

  connectedCallback() {
    for (const row of this.all('.row')) {
      const name = row.dataset.class;
      const track = row.querySelector('.track');
      row.querySelector('.less').addEventListener('click', () => this.#move(name, -this.#step));
      row.querySelector('.more').addEventListener('click', () => this.#move(name, this.#step));
      track.addEventListener('keydown', (event) => this.#keyOnTrack(name, event));
      track.addEventListener('pointerdown', (event) => this.#pointerDown(name, event));
      track.addEventListener('pointermove', (event) => this.#pointerMove(event));
      track.addEventListener('pointerup', () => { this.#drag = null; });
      track.addEventListener('pointercancel', () => { this.#drag = null; });
      // A tap. Clicks without a pointer come from assistive technology and have no position on the track.
      track.addEventListener('click', (event) => event.detail && this.#set(name, this.#percentAt(track, event.clientX)));
      row.addEventListener('focusin', () => this.#go(name, this.#waits && this.#current === name));
      this.#showRow(row);
    }
    this.one('.rest').addEventListener('click', () => this.#giveRest());
    this.one('.rest kbd').textContent = this.restKey.toUpperCase();
    this.#showRest();
  }

  get #step() {
    return this.shown.settings.step ?? 5;
  }

  /** The key of "the rest are 0", which is not a class key. */
  get restKey() {
    return this.#free(['n', '.', '-']);
  }

  /** The key for 100 %. */
  get fullKey() {
    return this.#free(['f', '+', '*']);
  }

  answer() {
    if (this.#open().length) return null;
    return Object.fromEntries(this.#names().map((name) => [name, this.#values.get(name) / 100]));
  }

  missing() {
    const open = this.#open();
    if (!open.length) return '';
    const named = open.slice(0, 3).join(', ');
    return open.length > 3 ? say('missing_more', { names: named, n: open.length - 3 }) : say('missing', { names: named });
  }

  firstMissing() {
    const [name] = this.#open();
    return name === undefined ? null : this.#track(name);
  }

  status() {
    const left = this.#open().length;
    const rest = left ? say('left', { n: left, all: this.#names().length }) : say('all_set');
    return this.#last ? `${this.#last}; ${rest}.` : `${rest}.`;
  }

  press(key) {
    const pressed = this.shown.classes.find((each) => each.key === key);
    const isDigit = /^[0-9]$/.test(key);
    if (this.#current && (this.#waits || !pressed) && (isDigit || key === this.fullKey)) {
      this.#set(this.#current, isDigit ? 10 * Number(key) : 100);
      return true;
    }
    if (pressed) {
      this.#go(pressed.name, true);
      this.#track(pressed.name).focus();
      this.#last = say('now', { name: pressed.name, value: this.#inWords(pressed.name), key: this.fullKey });
      this.changed();
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
      ...classes,
      ...(key ? [[[key, '8'], say('said', { name: first, value: '80 %' })], [[key, this.fullKey], say('said', { name: first, value: '100 %' })]] : []),
      [['arrowleft', 'arrowright'], say('keys_step', { n: this.#step })],
      [['backspace'], say('keys_clear')],
      [[this.restKey], say('keys_rest')],
    ];
  }

  #free(keys) {
    const taken = new Set(this.shown.classes.map((each) => each.key));
    return keys.find((key) => !taken.has(key));
  }

  #names() {
    return this.shown.classes.map((each) => each.name);
  }

  #open() {
    return this.#names().filter((name) => !this.#values.has(name));
  }

  #row(name) {
    return this.all('.row').find((row) => row.dataset.class === name);
  }

  #track(name) {
    return this.#row(name).querySelector('.track');
  }

  #inWords(name) {
    return this.#values.has(name) ? `${this.#values.get(name)} %` : say('not_set');
  }

  /** Makes a class the one that digits set. */
  #go(name, waits) {
    this.#current = name;
    this.#waits = waits;
    for (const row of this.all('.row')) this.#showRow(row);
  }

  #set(name, percent) {
    const steps = Math.round(Math.min(Math.max(percent, 0), 100) / this.#step);
    const before = this.#values.get(name);
    this.#values.set(name, steps * this.#step);
    this.#rest = this.#rest.filter((each) => each !== name);
    this.#last = say('said', { name, value: this.#inWords(name) });
    this.#go(name, false);
    this.#showRest();
    if (before === this.#values.get(name)) return;
    // Fire an input event like a native slider, so that the recorder stores the positions.
    const position = this.#row(name).querySelector('.position');
    position.value = String(this.#values.get(name));
    position.dispatchEvent(new Event('input', { bubbles: true }));
    this.changed();
  }

  #clear(name) {
    this.#values.delete(name);
    this.#rest = this.#rest.filter((each) => each !== name);
    this.#last = say('said', { name, value: say('not_set') });
    this.#go(name, false);
    this.#showRest();
    this.changed();
  }

  #move(name, by) {
    this.#set(name, (this.#values.get(name) ?? 0) + by);
  }

  /** 0 for every class not set yet; a second press undoes it. */
  #giveRest() {
    const open = this.#open();
    if (open.length) {
      for (const name of open) this.#values.set(name, 0);
      this.#rest = open;
      this.#last = open.length === 1 ? say('zero', { name: open[0] }) : say('zero_n', { n: open.length });
    } else if (this.#rest.length) {
      for (const name of this.#rest) this.#values.delete(name);
      this.#last = this.#rest.length === 1 ? say('taken_back', { name: this.#rest[0] }) : say('taken_back_n', { n: this.#rest.length });
      this.#rest = [];
    }
    this.#go(this.#current, false);
    this.#showRest();
    this.changed();
  }

  #keyOnTrack(name, event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const by = {
      ArrowRight: this.#step, ArrowUp: this.#step, ArrowLeft: -this.#step, ArrowDown: -this.#step,
      PageUp: Math.max(10, this.#step), PageDown: -Math.max(10, this.#step), Home: -100, End: 100,
    }[event.key];
    if (by !== undefined) this.#move(name, by);
    else if (event.key === 'Backspace' || event.key === 'Delete') this.#clear(name);
    else return;
    event.preventDefault();
  }

  #pointerDown(name, event) {
    if (event.button !== 0) return;
    this.#drag = { name, x: event.clientX, moving: event.pointerType !== 'touch' };
    if (!this.#drag.moving) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    this.#set(name, this.#percentAt(event.currentTarget, event.clientX));
  }

  #pointerMove(event) {
    if (!this.#drag) return;
    if (!this.#drag.moving && Math.abs(event.clientX - this.#drag.x) < SLACK_PX) return;
    this.#drag.moving = true;
    this.#set(this.#drag.name, this.#percentAt(this.#track(this.#drag.name), event.clientX));
  }

  #percentAt(track, x) {
    const { left, width } = track.getBoundingClientRect();
    return (100 * (x - left - MARGIN_PX)) / (width - 2 * MARGIN_PX);
  }

  #showRow(row) {
    const name = row.dataset.class;
    const percent = this.#values.get(name);
    const track = row.querySelector('.track');
    const waits = this.#waits && this.#current === name;
    row.classList.toggle('set', percent !== undefined);
    row.classList.toggle('current', this.#current === name);
    row.classList.toggle('waits', waits);
    track.style.setProperty('--share', String((percent ?? 0) / 100));
    track.setAttribute('aria-valuenow', String(percent ?? 0));
    track.setAttribute('aria-valuetext', percent === undefined ? say('not_set') : `${percent} %`);
    row.querySelector('.value').textContent = waits ? `0–9, ${this.fullKey.toUpperCase()}` : percent === undefined ? '' : `${percent} %`;
  }

  #showRest() {
    const open = this.#open().length;
    const button = this.one('.rest');
    const spent = !open && !this.#rest.length;
    button.classList.toggle('spent', spent);
    button.setAttribute('aria-disabled', String(spent));
    this.one('.rest .text').textContent = open === this.#names().length ? say('rest_all')
      : open ? say('rest_other', { n: open })
        : this.#rest.length ? say('rest_back', { n: this.#rest.length }) : say('rest_done');
  }
}

customElements.define('sfumato-sliders', Sliders);
