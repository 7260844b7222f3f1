/**
 * Form: the base class of the custom element of every question type. One element is one trial: the page clones it,
 * sets `shown`, inserts it and calls `begin()` when the stimulus is painted.
 *
 * The page takes care of focus, Enter (submit), `?` (help), Escape, the submit button and its hint, announcements,
 * recording and pictures. A form can place the n-th picture or text (the item is 0) with an empty
 * `<span data-shown="1"></span>`; everything it does not place appears next to the form.
 * Colors: `data-colour="{{ study.class_names.index(name) % 10 }}"` on an element gives it and its children `--colour`.
 *
 * Enter submits from anywhere in the form, except on a button reached with Tab, where it presses the button. After
 * Space has pressed that button, Enter submits again. Repeats of a held character key never reach `press`.
 */

/**
 * @typedef {object} StudyClass a class as this participant sees it
 * @property {string} name
 * @property {string|null} key its shortcut
 * @property {string|null} example the URL of an example picture
 */

/**
 * @typedef {object} Shown what one trial is about
 * @property {string} trial the trial's handle
 * @property {StudyClass[]} classes in this participant's order
 * @property {Record<string, any>} settings of the kind
 * @property {'own'|'others'} framing
 * @property {Record<string, any>} told the context shown with the item
 * @property {string[]} pictures URLs, the item first
 * @property {string[]} texts the item first
 * @property {Map<string, string>} keys class name -> key
 */

/** The base class of the forms. */
export class Form extends HTMLElement {
  /** @type {Shown} */
  shown = {
    trial: '', classes: [], settings: {}, framing: 'own', told: {}, pictures: [], texts: [], keys: new Map(),
  };

  /** Class names or sides in the order shown, if that is not the order of `shown.classes`.
   * @type {string[]|undefined} */
  order = undefined;

  /** Called once, when the stimulus is painted; setup that needs `shown` belongs here. */
  begin() {}

  /** The raw answer, or null while it is incomplete or inconsistent.
   * @returns {Record<string, any>|null} */
  answer() {
    throw new Error('a form must define answer()');
  }

  /** What is still missing, in one sentence, or '' when the answer is complete.
   * @returns {string} */
  missing() {
    throw new Error('a form must define missing()');
  }

  /** The current answer, in one sentence for screen readers.
   * @returns {string} */
  status() {
    return '';
  }

  /** Takes a shortcut key (lower case; digits by their place on the keyboard, so Shift+1 is '1').
   * @param {string} _key
   * @param {KeyboardEvent} _event
   * @returns {boolean} whether it was used */
  press(_key, _event) {
    return false;
  }

  /** The control to focus when the participant submits an incomplete answer. By default the first control.
   * @returns {HTMLElement|null} */
  firstMissing() {
    return this.one('[aria-invalid="true"], input:not([type="hidden"]), select, button, [tabindex="0"]');
  }

  /** What the keys do, for the instructions and the help: [keys, meaning], in order.
   * @returns {[string[], string][]} */
  legend() {
    return this.shown.classes.filter((each) => each.key).map((each) => [[/** @type {string} */ (each.key)], each.name]);
  }

  /** Notifies the page; call it after every change of the answer. */
  changed() {
    this.dispatchEvent(new Event('change-of-answer', { bubbles: true }));
  }

  /** Every element inside that matches.
   * @param {string} selector
   * @returns {HTMLElement[]} */
  all(selector) {
    return [...this.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each));
  }

  /** The first element inside that matches, or null.
   * @param {string} selector
   * @returns {HTMLElement|null} */
  one(selector) {
    return this.querySelector(selector);
  }

  /** The class of an element: its `data-class`, or that of its nearest ancestor that has one.
   * @param {Element|EventTarget|null} element
   * @returns {string|null} */
  classOf(element) {
    const found = element instanceof Element ? element.closest('[data-class]') : null;
    return found instanceof HTMLElement ? found.dataset.class ?? null : null;
  }
}
