/**
 * Form: what every kind's custom element extends. One element is one trial: the page clones it, sets `shown`,
 * inserts it and calls `begin()` once the stimulus is painted.
 *
 * What the page does, so that a form need not: focus, Enter (submit), `?` (help), Escape, the submit button, the
 * sentence beside it, announcing, recording events, pictures. A form may say where the n-th thing shown (picture or
 * text, the item is 0) goes by an empty `<span data-shown="1"></span>`; whatever it does not claim stands beside it.
 * Colours: `data-colour="{{ study.class_names.index(name) % 10 }}"` on an element gives it and its children `--colour`.
 *
 * Enter submits from anywhere in the form but a button reached with Tab, where it presses the button as it does
 * everywhere else; after Space has pressed it, Enter submits. Repeats of a held character key never reach `press`.
 */

/**
 * @typedef {object} StudyClass a class as this person sees it
 * @property {string} name
 * @property {string|null} key its shortcut
 * @property {string|null} example the address of a picture of it
 */

/**
 * @typedef {object} Shown what one trial is about
 * @property {string} trial the trial's handle
 * @property {StudyClass[]} classes in this person's order
 * @property {Record<string, any>} settings of the kind
 * @property {'own'|'others'} framing
 * @property {Record<string, any>} told what is told with the item
 * @property {string[]} pictures addresses, the item's first
 * @property {string[]} texts the item's first
 * @property {Map<string, string>} keys class name -> key
 */

/** The part of a form that the kinds share. */
export class Form extends HTMLElement {
  /** @type {Shown} */
  shown = {
    trial: '', classes: [], settings: {}, framing: 'own', told: {}, pictures: [], texts: [], keys: new Map(),
  };

  /** Class names or sides in the order shown, where that is not the order of `shown.classes`.
   * @type {string[]|undefined} */
  order = undefined;

  /** Called once, when the stimulus is painted; set up here what needs `shown`. */
  begin() {}

  /** The raw answer, or null while it is not whole and coherent.
   * @returns {Record<string, any>|null} */
  answer() {
    throw new Error('each kind says what its answer is');
  }

  /** What is still to do, in one sentence, or '' when the answer is whole.
   * @returns {string} */
  missing() {
    throw new Error('each kind says what is missing');
  }

  /** The answer as it stands, in one sentence for screen readers.
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

  /** The control to go to when the person submits too early: the first thing missing. By default the first control.
   * @returns {HTMLElement|null} */
  firstMissing() {
    return this.one('[aria-invalid="true"], input:not([type="hidden"]), select, button, [tabindex="0"]');
  }

  /** What the keys do, for the instructions and the help: [keys, what they do], in order. Kinds add their own.
   * @returns {[string[], string][]} */
  legend() {
    return this.shown.classes.filter((each) => each.key).map((each) => [[/** @type {string} */ (each.key)], each.name]);
  }

  /** Tells the page that the answer changed; call it after every change. */
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

  /** The class an element stands for: `data-class` of it or of what is around it.
   * @param {Element|EventTarget|null} element
   * @returns {string|null} */
  classOf(element) {
    const found = element instanceof Element ? element.closest('[data-class]') : null;
    return found instanceof HTMLElement ? found.dataset.class ?? null : null;
  }
}
