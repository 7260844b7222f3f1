/**
 * Sliders: how well each class fits, 0 to 100 %. A slider has no thumb until it has a value. A class key focuses its
 * slider, a digit then sets the tens and one key sets 100 %; one key sets every remaining slider to 0.
 */

import { ClassRows } from '/static/kinds/plausible/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.sliders');

/** Distance before a touch becomes a drag: a shorter one may be the start of a scroll. */
const SLACK_PX = 8;
/** Distance from the end of the track to the center of the thumb at 0 and at 100 %. */
const MARGIN_PX = 14;

class Sliders extends ClassRows {
  texts = 'kinds.sliders';
  restText = 'zero';
  doneText = 'all_set';
  /** Percent per class, for sliders that are set. @type {Map<string, number>} */
  #values = new Map();
  /** The class whose slider the keys set. */
  #current = '';
  /** Whether a class key was just pressed, so that a digit is a value and not a class key. */
  #waits = false;
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
    super.connectedCallback();
  }

  get #step() {
    return this.shown.settings.step ?? 5;
  }

  /** The key for 100 %. */
  get fullKey() {
    return this.freeKey(['f', '+', '*']);
  }

  answer() {
    if (this.open().length) return null;
    return Object.fromEntries(this.names().map((name) => [name, this.#values.get(name) / 100]));
  }

  isSet(name) {
    return this.#values.has(name);
  }

  firstControl(name) {
    return this.#track(name);
  }

  setRest(name) {
    this.#values.set(name, 0);
  }

  clearRest(name) {
    this.#values.delete(name);
  }

  showRest() {
    super.showRest();
    this.#go(this.#current, false);
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
      this.last = say('now', { name: pressed.name, value: this.#inWords(pressed.name), key: this.fullKey });
      this.changed();
      return true;
    }
    if (key !== this.restKey) return false;
    this.giveRest();
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

  #track(name) {
    return this.row(name).querySelector('.track');
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
    this.rest = this.rest.filter((each) => each !== name);
    this.last = say('said', { name, value: this.#inWords(name) });
    this.#current = name;
    this.showRest();
    if (before === this.#values.get(name)) return;
    // Fire an input event like a native slider, so that the recorder stores the positions.
    const position = this.row(name).querySelector('.position');
    position.value = String(this.#values.get(name));
    position.dispatchEvent(new Event('input', { bubbles: true }));
    this.changed();
  }

  #clear(name) {
    this.#values.delete(name);
    this.rest = this.rest.filter((each) => each !== name);
    this.last = say('said', { name, value: say('not_set') });
    this.#current = name;
    this.showRest();
    this.changed();
  }

  #move(name, by) {
    this.#set(name, (this.#values.get(name) ?? 0) + by);
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
}

customElements.define('sfumato-sliders', Sliders);
