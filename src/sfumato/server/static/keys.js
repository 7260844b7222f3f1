/** Keyboard of the study page. Enter submits once per press, `?` opens the help, other keys go to the form. */

const TEXT_FIELDS = 'textarea, select, [contenteditable="true"], input:not([type="radio"], [type="checkbox"], '
  + '[type="range"], [type="button"], [type="submit"])';
const CONTROLS = 'button, a[href], summary, input, textarea, select, [role="slider"], [role="radio"], [role="button"]';
const PRESSABLE = 'button, a[href], summary, [role="button"]';
/** Keys that controls handle themselves. */
const NATIVE = new Set([' ', 'arrowup', 'arrowdown', 'arrowleft', 'arrowright', 'home', 'end', 'pageup', 'pagedown']);
const NEVER = new Set(['enter', 'escape', 'tab', 'shift', 'control', 'alt', 'meta', 'capslock', 'dead', 'process', 'unidentified']);

/**
 * @typedef {object} KeyActions what the page does with keys
 * @property {() => boolean} shortcuts whether shortcuts are on
 * @property {(key: string, event: KeyboardEvent) => boolean} press a key for the form; whether it was used
 * @property {() => boolean} answering whether a trial is open
 * @property {() => void} enter submit or continue
 * @property {() => void} help
 * @property {() => Iterable<string>} classKeys
 */

export class Keys {
  #actions;
  /** Enter is held down. */
  #enterHeld = false;
  /** The last key was Tab: the next element with focus was reached by keyboard. */
  #tabPressed = false;
  /** @type {Element|null} */
  #focusedByTab = null;

  /** @param {KeyActions} actions */
  constructor(actions) {
    this.#actions = actions;
    document.addEventListener('keydown', (event) => this.#down(event));
    document.addEventListener('keyup', (event) => {
      if (event.key === 'Enter') this.#enterHeld = false;
    });
    addEventListener('blur', () => (this.#enterHeld = false));
    document.addEventListener('pointerdown', () => (this.#tabPressed = false), true);
    document.addEventListener('focusin', (event) => {
      this.#focusedByTab = this.#tabPressed && event.target instanceof Element ? event.target : null;
    });
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    this.#tabPressed = event.key === 'Tab';
    // After Space has pressed a button reached with Tab, Enter submits again.
    if (event.key === ' ') this.#focusedByTab = null;
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector('dialog[open]')) return;
    if (event.key === 'Enter') this.#enter(event, target);
    else this.#other(event, target);
  }

  /** @param {KeyboardEvent} event
   * @param {Element} target */
  #enter(event, target) {
    const held = this.#enterHeld || event.repeat;
    this.#enterHeld = true;
    if (held) {
      // A held Enter would press a focused button repeatedly.
      event.preventDefault();
      return;
    }
    // A button clicked with the pointer keeps the focus; Enter then submits instead of pressing it again.
    const presses = this.#focusedByTab === target || !this.#actions.answering();
    if (target.closest(PRESSABLE) && presses && target.id !== 'submit') return;
    event.preventDefault();
    this.#actions.enter();
  }

  /** @param {KeyboardEvent} event
   * @param {Element} target */
  #other(event, target) {
    if (!this.#actions.shortcuts() || target.closest(TEXT_FIELDS)) return;
    const key = keyOf(event, new Set(this.#actions.classKeys()));
    if (NEVER.has(key) || (NATIVE.has(key) && target.closest(CONTROLS))) return;
    if (event.repeat && key.length === 1) return;
    if (this.#actions.press(key, event)) event.preventDefault();
    else if (event.key === '?') {
      event.preventDefault();
      this.#actions.help();
    }
  }
}

/** The key as forms receive it: lower case; digits by their position, so that Shift and layouts do not change them,
 * and Latin letters by their position if the layout has none, unless the study uses the typed character.
 * @param {KeyboardEvent} event
 * @param {Set<string>} used the classes' keys
 * @returns {string} */
export function keyOf(event, used) {
  const typed = event.key.toLowerCase();
  const digit = /^Digit(\d)$/.exec(event.code)?.[1];
  if (digit) return used.has(typed) && !used.has(digit) ? typed : digit;
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase();
  return letter && typed.length === 1 && typed > '\x7f' && !used.has(typed) ? letter : typed;
}
