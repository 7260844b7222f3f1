/**
 * Tokens: N tokens over the classes.
 *
 * A class key, or a click on the row:
 *   - if no token is placed: all tokens go to that class;
 *   - otherwise one token moves to it from the other class with the most tokens. If two have equally many, from the
 *     one that has held tokens for longer (a class that was emptied starts again).
 * Shift with a class key, or the row's minus: one token moves from that class to the other class with the most tokens
 * (same rule for ties). If it is the only class with tokens, nothing moves.
 * `o` marks that other classes are possible, or removes the mark; Backspace undoes the last step; Enter submits.
 *
 * With the setting `drag`: press on A, release over the track of B, and the tokens of both are split at that point.
 * Without dragging: click A, click B, then set the split on the bar below.
 */
import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.tokens');

/** @typedef {{placed: Map<string, number>, others: boolean, pair: [string, string]|null}} State */

class Tokens extends Form {
  /** Tokens per class, in the order in which the classes got their first token. @type {State} */
  #now = { placed: new Map(), others: false, pair: null };

  /** @type {State[]} */
  #before = [];

  #note = '';

  begin() {
    const cap = this.one('.others kbd');
    if (cap) cap.textContent = this.#othersKey;
    this.addEventListener('click', (event) => this.#clicked(/** @type {Element} */ (event.target)));
    this.one('.split input')?.addEventListener('input', (event) => {
      const [a, b] = this.#now.pair ?? ['', ''];
      const ofA = Number(/** @type {HTMLInputElement} */ (event.target).value);
      this.#step(this.#splitOf(this.#now, a, b, this.#held(this.#now, a) + this.#held(this.#now, b) - ofA));
    });
    if (this.shown.settings.drag) this.#watchDrags();
    this.#draw();
  }

  answer() {
    const { placed, others } = this.#now;
    return placed.size === 0 ? null : { tokens: Object.fromEntries(placed), others };
  }

  missing() {
    return this.#now.placed.size === 0 ? say('missing', { n: this.#n }) : '';
  }

  status() {
    const { placed, others } = this.#now;
    const held = [...placed].map(([name, n]) => `${name} ${n}`).join(', ') || say('nothing');
    const status = say('status', { held, mark: say(others ? 'marked' : 'not_marked') });
    return this.#note ? `${this.#note} ${status}` : status;
  }

  /** @param {string} key
   * @param {KeyboardEvent} event */
  press(key, event) {
    const named = this.shown.classes.find((each) => each.key?.toLowerCase() === key);
    if (named && event.shiftKey) this.#take(named.name);
    else if (named) this.#put(named.name);
    else if (key === this.#othersKey) this.#toggleOthers();
    else if (key === 'backspace') this.#undo();
    else return false;
    return true;
  }

  firstMissing() {
    return this.one('.put');
  }

  /** @returns {[string[], string][]} */
  legend() {
    const keys = this.shown.classes.flatMap((each) => (each.key ? [each.key] : []));
    /** @type {[string[], string][]} */
    const byClass = [
      [keys, say('keys_class')],
      [['shift', keys[0]], say('keys_shift')],
    ];
    return [
      ...(keys.length ? byClass : []),
      [[this.#othersKey], say('keys_others')],
      [['backspace'], say('keys_undo')],
    ];
  }

  /** `o`, or another key if `o` is a class key. */
  get #othersKey() {
    const taken = new Set(this.shown.classes.map((each) => each.key?.toLowerCase()));
    return ['o', '.', '/', '+'].find((key) => !taken.has(key)) ?? '';
  }

  /** The total number of tokens. */
  get #n() {
    return Number(this.shown.settings.tokens ?? 10);
  }

  /** @param {Element} target */
  #clicked(target) {
    const name = this.classOf(target);
    if (target.closest('.others')) this.#toggleOthers();
    else if (target.closest('.undo')) this.#undo();
    else if (name !== null && target.closest('.take')) this.#take(name);
    else if (name !== null) this.#put(name);
  }

  /** @param {string} name */
  #put(name) {
    const { placed } = this.#now;
    const from = this.#most(placed, name);
    if (placed.size === 0) this.#step({ ...this.#now, placed: new Map([[name, this.#n]]) });
    else if (from === null) this.#say(say('all_on', { n: this.#n, name }));
    else this.#step(this.#splitOf(this.#now, from, name, this.#held(this.#now, name) + 1));
  }

  /** @param {string} name */
  #take(name) {
    const { placed } = this.#now;
    const to = this.#most(placed, name);
    if (!placed.has(name)) this.#say(say('no_tokens', { name }));
    else if (to === null) this.#say(say('only', { name }));
    else this.#step(this.#splitOf(this.#now, to, name, this.#held(this.#now, name) - 1));
  }

  #toggleOthers() {
    this.#step({ ...this.#now, others: !this.#now.others });
  }

  #undo() {
    const before = this.#before.pop();
    if (!before) return this.#say(say('nothing_to_undo'));
    this.#now = before;
    this.#say('');
  }

  /** @param {State} next */
  #step(next) {
    this.#before.push(this.#now);
    this.#now = next;
    this.#say('');
  }

  /** @param {string} note */
  #say(note) {
    this.#note = note;
    this.#draw();
    this.changed();
  }

  /** The class other than `name` with the most tokens; in a tie the one that has held tokens for longer.
   * @param {Map<string, number>} placed
   * @param {string} name */
  #most(placed, name) {
    let most = null;
    for (const [other, n] of placed) {
      if (other !== name && (most === null || n > (placed.get(most) ?? 0))) most = other;
    }
    return most;
  }

  /** @param {State} state
   * @param {string} name */
  #held(state, name) {
    return state.placed.get(name) ?? 0;
  }

  /** The state in which `b` has `n` of the tokens of `a` and `b` together; other classes are unchanged.
   * @param {State} state
   * @param {string} a
   * @param {string} b
   * @param {number} n
   * @returns {State} */
  #splitOf(state, a, b, n) {
    const both = this.#held(state, a) + this.#held(state, b);
    const ofB = Math.min(Math.max(n, 0), both);
    const placed = new Map(state.placed).set(a, both - ofB).set(b, ofB);
    for (const name of [a, b]) if (!placed.get(name)) placed.delete(name);
    return { ...state, placed, pair: [a, b] };
  }

  #draw() {
    const { placed, others, pair } = this.#now;
    for (const row of this.all('.row')) {
      const name = row.dataset.class ?? '';
      const n = placed.get(name) ?? 0;
      row.classList.toggle('held', n > 0);
      row.querySelectorAll('.track i').forEach((slot, i) => slot.classList.toggle('on', i < n));
      const [put, take] = row.querySelectorAll('button');
      put.setAttribute('aria-label', say('n_on', { name, n, all: this.#n }));
      const count = row.querySelector('.count');
      if (count) count.textContent = n ? String(n) : '';
      take.setAttribute('aria-disabled', String(n === 0));
      take.tabIndex = n === 0 ? -1 : 0;
    }
    this.one('.others')?.setAttribute('aria-pressed', String(others));
    const state = this.one('.others .state');
    if (state) state.textContent = say(others ? 'marked' : 'not_marked');
    this.one('.undo')?.setAttribute('aria-disabled', String(this.#before.length === 0));
    const note = this.one('.note');
    if (note) note.textContent = this.#note;
    this.#drawSplit(pair);
  }

  /** @param {[string, string]|null} pair */
  #drawSplit(pair) {
    const split = this.one('.split');
    const range = /** @type {HTMLInputElement|null} */ (this.one('.split input'));
    if (!split || !range) return;
    split.toggleAttribute('data-empty', pair === null);
    range.disabled = pair === null;
    if (pair === null) return;
    const [ofA, ofB] = pair.map((name) => this.#held(this.#now, name));
    range.max = String(ofA + ofB);
    range.value = String(ofA);
    range.setAttribute('aria-valuetext', `${pair[0]} ${ofA}, ${pair[1]} ${ofB}`);
    split.style.setProperty('--split', String(ofA + ofB ? ofA / (ofA + ofB) : 0));
    this.all('.split output').forEach((side, i) => {
      side.textContent = `${pair[i]} ${i ? ofB : ofA}`;
      side.dataset.colour = this.all('.row').find((row) => row.dataset.class === pair[i])?.dataset.colour;
    });
    split.style.setProperty('--a', `var(--class-${this.all('.split output')[0].dataset.colour})`);
    split.style.setProperty('--b', `var(--class-${this.all('.split output')[1].dataset.colour})`);
  }

  #watchDrags() {
    const rows = /** @type {HTMLElement} */ (this.one('.rows'));
    /** @type {{from: string, start: State, moved: boolean}|null} */
    let drag = null;
    const end = () => {
      drag = null;
      rows.classList.remove('dragging');
      this.all('.row').forEach((row) => row.classList.remove('from', 'over'));
    };
    rows.addEventListener('pointerdown', (event) => {
      const target = /** @type {Element} */ (event.target);
      const from = this.classOf(target);
      if (from === null || event.button !== 0 || target.closest('.take')) return;
      drag = { from, start: this.#now, moved: false };
    });
    rows.addEventListener('pointermove', (event) => {
      if (!drag) return;
      const row = document.elementFromPoint(event.clientX, event.clientY)?.closest('.row') ?? null;
      const to = this.contains(row) ? this.classOf(row) : null;
      if (!drag.moved && (to === null || to === drag.from)) return;
      if (!drag.moved) rows.setPointerCapture(event.pointerId);
      drag.moved = true;
      this.#now = this.#dragged(drag.start, drag.from, to, event.clientX, row);
      rows.classList.add('dragging');
      for (const each of this.all('.row')) {
        each.classList.toggle('from', each.dataset.class === drag.from);
        each.classList.toggle('over', each === row && to !== drag.from);
      }
      this.#draw();
    });
    rows.addEventListener('pointerup', () => {
      if (drag?.moved) {
        const result = this.#now;
        this.#now = drag.start;
        if (result !== drag.start) this.#step(result);
        else this.#say(this.#now.placed.has(drag.from) ? '' : say('no_tokens_to_move', { name: drag.from }));
        // The click that follows a drag is part of it.
        const swallow = (/** @type {Event} */ event) => event.stopPropagation();
        this.addEventListener('click', swallow, { capture: true, once: true });
        setTimeout(() => this.removeEventListener('click', swallow, { capture: true }));
      }
      end();
    });
    rows.addEventListener('pointercancel', () => {
      if (drag?.moved) {
        this.#now = drag.start;
        this.#draw();
      }
      end();
    });
  }

  /** The state if the pointer is released here.
   * @param {State} start
   * @param {string} from
   * @param {string|null} to
   * @param {number} x
   * @param {Element|null} row
   * @returns {State} */
  #dragged(start, from, to, x, row) {
    const whole = start.placed.size === 0 ? { ...start, placed: new Map([[from, this.#n]]) } : start;
    const track = row?.querySelector('.track')?.getBoundingClientRect();
    if (to === null || to === from || !track || !whole.placed.has(from)) return whole;
    return this.#splitOf(whole, from, to, Math.ceil(((x - track.left) / track.width) * this.#n));
  }
}

customElements.define('sfumato-tokens', Tokens);
