/** One trial on the screen, from loading its pictures to its answer. */

import { copy, element, onPress, part, setServerHtml } from './dom.js';
import { painted, Recorder } from './recorder.js';
import { say } from './texts.js';

const SHOW_LOADING_MS = 400;
const OFFER_HELP_MS = 8000;
/** The key of the button "I am not sure", unless it is the key of a class. */
export const UNSURE_KEY = '.';

/**
 * @typedef {object} TrialActions
 * @property {(answer: object, record: import('./recorder.js').AnswerRecord) => void} submit
 * @property {() => void} skip the picture cannot be shown: continue with another trial
 * @property {() => {shortcuts: boolean, resumed: boolean}} circumstances
 */

export class TrialView {
  /** The form element. @type {import('./form.js').Form|null} */
  form = null;
  /** Whether the trial is painted and not yet answered. */
  open = false;

  #config;
  #trial;
  #pictures;
  #frame;
  #actions;
  #root = document.createElement('article');
  #left = false;
  /** Number of attempts to show it; only the latest attempt paints. */
  #attempts = 0;
  /** @type {Recorder|null} */
  #recorder = null;
  /** How the deeper form opened. @type {''|'asked'|'unsure'} */
  #opened = '';
  /** The answer before the deeper form opened. @type {object|null} */
  #first = null;
  /** @type {HTMLImageElement[]} */
  #images = [];
  /** Whether the answer to a practice trial was as expected; null until known. @type {boolean|null} */
  #passed = null;

  /** @param {import('./session_flow.js').Config} config
   * @param {import('./api.js').Trial} trial
   * @param {import('./pictures.js').Pictures} pictures
   * @param {import('./page_frame.js').PageFrame} frame
   * @param {TrialActions} actions */
  constructor(config, trial, pictures, frame, actions) {
    this.#config = config;
    this.#trial = trial;
    this.#pictures = pictures;
    this.#frame = frame;
    this.#actions = actions;
  }

  /** The trial's handle. */
  get handle() {
    return this.#trial.trial;
  }

  /** Loads the pictures, shows the trial, and starts its clock at the first painted frame. */
  async show() {
    this.#attempts += 1;
    const current = this.#attempts;
    const still = () => !this.#left && current === this.#attempts;
    const timers = [
      setTimeout(() => still() && this.#wait(say('trial.loading'), false), SHOW_LOADING_MS),
      setTimeout(() => still() && this.#wait(say('trial.slow'), true), OFFER_HELP_MS),
    ];
    try {
      const images = await Promise.all((this.#trial.pictures ?? []).map((url) => this.#pictures.load(url)));
      timers.forEach(clearTimeout);
      if (still()) await this.#paint(images);
    } catch {
      if (still()) this.#wait(say('trial.failed'), true);
    } finally {
      timers.forEach(clearTimeout);
    }
  }

  /** Leaves the trial without an answer. */
  leave() {
    this.#left = true;
    this.open = false;
    this.#recorder?.abandon();
  }

  /** Submits the answer if it is complete; otherwise shows what is missing and focuses it. */
  submit() {
    const form = this.form;
    if (!this.open || !form || !this.#recorder) return;
    const missing = form.missing();
    const answer = missing ? null : form.answer();
    if (!answer) {
      this.#frame.announce(missing);
      const hint = part(this.#root, 'hint');
      hint.textContent = missing;
      hint.classList.add('asked');
      (form.firstMissing() ?? form).focus();
      return;
    }
    if (this.#trial.deeper && !this.#opened) return this.#openDeeper('asked', answer);
    this.open = false;
    delete this.#root.dataset.open;
    const record = this.#recorder.finish({
      keys: Object.fromEntries(form.shown.keys),
      order: form.order ?? this.#config.classes.map((each) => each.name),
      opened: this.#opened,
      first: this.#first,
      ...this.#actions.circumstances(),
    });
    this.#actions.submit(answer, record);
  }

  /** Handles a shortcut that the form does not use. @param {string} key
   * @returns {boolean} whether it was used */
  press(key) {
    if (key !== UNSURE_KEY || part(this.#root, 'unsure').hidden) return false;
    this.#openDeeper('unsure', null);
    return true;
  }

  /** Replaces the form by the deeper form for the same item.
   * @param {'asked'|'unsure'} opened
   * @param {object|null} first the answer so far */
  #openDeeper(opened, first) {
    if (!this.open || this.#opened) return;
    this.#opened = opened;
    this.#first = first;
    part(this.#root, 'unsure').hidden = true;
    const more = part(this.#root, 'more');
    more.hidden = false;
    part(this.#root, 'prompt').textContent = this.#config.questions[1].prompt;
    const form = this.#newForm(1);
    form.begin();
    this.#update();
    form.focus({ preventScroll: true });
    this.#frame.announce(`${more.textContent} ${this.#config.questions[1].prompt}`);
  }

  /** Shows the feedback of a practice trial under the answer.
   * @param {() => void} proceed */
  feedback(proceed) {
    if (this.form) this.form.inert = true;
    const panel = copy('page-feedback');
    setServerHtml(part(panel, 'text'), this.#trial.feedback);
    onPress(part(panel, 'continue'), proceed);
    part(this.#root, 'submit-row').replaceWith(panel);
    this.#showVerdict();
    const heading = part(this.#root, 'feedback-heading');
    heading.focus({ preventScroll: true });
    heading.closest('section')?.scrollIntoView({ block: 'nearest' });
  }

  /** Shows whether the answer to this practice trial is as expected. @param {boolean} passed */
  judge(passed) {
    this.#passed = passed;
    this.#showVerdict();
  }

  #showVerdict() {
    const line = this.#root.querySelector('[data-part="verdict"]');
    if (!line || this.#passed === null) return;
    line.textContent = say(this.#passed ? 'feedback.passed' : 'feedback.failed');
    line.classList.toggle('failed', !this.#passed);
  }

  /** @param {HTMLImageElement[]} images */
  async #paint(images) {
    const page = copy('page-trial');
    this.#root = /** @type {HTMLElement} */ (page.firstElementChild);
    part(page, 'prompt').textContent = this.#config.questions[this.#trial.question].prompt;
    part(page, 'practice').hidden = !this.#trial.practice;
    this.#images = images;
    const form = this.#newForm(this.#trial.question);
    // No input before the stimulus is visible.
    form.inert = true;
    const unsure = part(page, 'unsure');
    unsure.hidden = !this.#config.unsure || this.#trial.question !== 0;
    unsure.addEventListener('click', (event) => event.detail > 1 || this.#openDeeper('unsure', null));
    const submit = part(page, 'submit');
    // The second click of a double click belongs to the previous trial.
    submit.addEventListener('click', (event) => event.detail > 1 || this.submit());
    this.#frame.show(page, 'trial');
    const start = await painted();
    if (this.#left) return;
    form.inert = false;
    this.open = true;
    form.begin();
    this.#update();
    form.focus({ preventScroll: true });
    this.#recorder = new Recorder(start);
    this.#frame.announceProgress();
    this.#root.dataset.open = this.handle;
  }

  /** Inserts the form of one of the study's questions and replaces the current one.
   * @param {number} question
   * @returns {import('./form.js').Form} */
  #newForm(question) {
    const form = newForm(this.#config, { ...this.#trial, question });
    this.form = form;
    this.#place(form, this.#images);
    form.tabIndex = -1;
    form.dataset.name ??= 'form';
    if (!form.hasAttribute('role')) form.setAttribute('role', 'group');
    if (!form.hasAttribute('aria-label')) form.setAttribute('aria-labelledby', 'prompt');
    part(this.#root, 'form').replaceChildren(form);
    form.addEventListener('change-of-answer', () => this.#changed());
    return form;
  }

  /** Places the pictures or texts where the form requests them, the others next to the form.
   * @param {import('./form.js').Form} form
   * @param {HTMLImageElement[]} images */
  #place(form, images) {
    const aside = part(this.#root, 'stimulus');
    aside.replaceChildren();
    const texts = (this.#trial.texts ?? []).map((text) => element('span', text, { dir: 'auto' }));
    const things = images.length ? images : texts;
    things.forEach((thing, n) => {
      const image = thing instanceof HTMLImageElement;
      if (image) thing.alt = things.length === 1 ? say('trial.picture') : say('trial.picture_of', { n: n + 1, all: things.length });
      const frame = element('span', '', { class: image ? 'thing thing-picture' : 'thing thing-text' });
      frame.append(thing);
      (form.one(`[data-shown="${n}"]`) ?? aside).append(frame);
    });
    aside.hidden = !aside.hasChildNodes();
    this.#root.classList.toggle('alone', aside.hidden);
  }

  #changed() {
    if (!this.form || !this.open) return;
    this.#update();
    this.#frame.announce(this.form.status());
  }

  /** Updates the submit button and its hint. */
  #update() {
    const missing = this.form?.missing() ?? '';
    const hint = part(this.#root, 'hint');
    hint.textContent = missing;
    hint.classList.remove('asked');
    part(this.#root, 'submit').setAttribute('aria-disabled', String(missing !== ''));
  }

  /** Shows a page instead of the trial while its pictures are loading.
   * @param {string} sentence
   * @param {boolean} choices whether to offer "try again" and "continue" */
  #wait(sentence, choices) {
    const page = copy('page-picture');
    part(page, 'sentence').textContent = sentence;
    part(page, 'choices').hidden = !choices;
    onPress(part(page, 'retry'), () => {
      this.#pictures.prepare([]);
      return this.show();
    });
    onPress(part(page, 'skip'), () => {
      this.leave();
      this.#actions.skip();
    });
    this.#frame.show(page, 'picture');
    this.#frame.announce(choices ? `${sentence} ${say('trial.try_or_go_on')}` : sentence);
  }
}

/** A new form for a trial, or, without a trial, for the list of its keys.
 * @param {import('./session_flow.js').Config} config
 * @param {import('./api.js').Trial|null} [trial]
 * @param {number} [number] which question, if there is no trial
 * @returns {import('./form.js').Form} */
export function newForm(config, trial = null, number = 0) {
  const place = trial?.question ?? number;
  const question = config.questions[place];
  const form = /** @type {import('./form.js').Form} */ (copy(`form-${place}`).firstElementChild);
  form.shown = {
    trial: trial?.trial ?? '',
    classes: config.classes,
    settings: question.settings,
    framing: question.framing,
    told: trial?.told ?? {},
    pictures: trial?.pictures ?? [],
    texts: trial?.texts ?? [],
    keys: new Map(config.classes.flatMap((each) => (each.key ? [[each.name, each.key]] : []))),
  };
  return form;
}
