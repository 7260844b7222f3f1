/**
 * Top two: the five questions of CIFAR-10S, in their order.
 *
 * Class keys answer the question that has the focus, otherwise the first question without an answer, and at the end
 * they mark impossible classes. A class key for the first or second class moves the focus to its percentage, where
 * digits are digits; Tab continues from there. `n` means that no other class is possible. A complete answer by keys is
 * `1 70 Tab 2 20 Tab 3 4 5 Enter` or `1 100 Tab n Enter`.
 */
import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.top_two');

/** @typedef {'first'|'first_percent'|'second'|'second_percent'|'impossible'} Question */

const NONE = Symbol('no other class');

class TopTwo extends Form {
  begin() {
    const cap = this.one('.none kbd');
    if (cap) cap.textContent = this.#noneKey;
    // Input events cover radio buttons, check boxes and every keystroke in the fields.
    this.addEventListener('input', () => this.#update());
  }

  answer() {
    if (this.missing() !== '') return null;
    const second = this.#chosen('second');
    return {
      first: this.#chosen('first'),
      first_percent: this.#percent('first_percent'),
      second: second === NONE ? null : second,
      second_percent: second === NONE ? null : this.#percent('second_percent'),
      impossible: this.#impossible(),
    };
  }

  missing() {
    return this.#problems()[0]?.sentence ?? '';
  }

  status() {
    const [first, second] = [this.#chosen('first'), this.#chosen('second')];
    const parts = [first === null ? say('no_class') : say('said_first', { name: String(first), percent: this.#typed('first_percent') })];
    if (second === NONE) parts.push(say('said_none'));
    else if (second !== null) parts.push(say('said_second', { name: String(second), percent: this.#typed('second_percent') }));
    if (this.#impossible().length) parts.push(say('said_not', { names: this.#impossible().join(', ') }));
    return `${parts.map((each) => each.trim()).join('; ')}.`;
  }

  /** @param {string} key */
  press(key) {
    const question = this.#asked();
    if (key === this.#noneKey && question !== 'impossible') {
      this.#choose('second', null);
      return true;
    }
    const named = this.shown.classes.find((each) => each.key?.toLowerCase() === key);
    if (named) this.#choose(question, named.name);
    return named !== undefined;
  }

  firstMissing() {
    const question = this.#problems()[0]?.question;
    return this.one(`[data-question="${question}"] input:checked`) ?? this.one(`[data-question="${question}"] input`);
  }

  /** @returns {[string[], string][]} */
  legend() {
    const keys = this.shown.classes.flatMap((each) => (each.key ? [each.key] : []));
    return [
      [keys, say('keys_class')],
      [['Tab'], say('keys_tab')],
      [[this.#noneKey], say('keys_none')],
    ];
  }

  /** `n`, or another key if `n` is a class key. */
  get #noneKey() {
    const taken = new Set(this.shown.classes.map((each) => each.key?.toLowerCase()));
    return ['n', '-', '.', '/'].find((key) => !taken.has(key)) ?? '';
  }

  /** The question that class keys answer now.
   * @returns {'first'|'second'|'impossible'} */
  #asked() {
    const around = document.activeElement?.closest('fieldset[data-question]');
    const focused = around instanceof HTMLElement && this.contains(around) ? around.dataset.question : null;
    if (focused === 'first' || focused === 'second' || focused === 'impossible') return focused;
    if (this.#chosen('first') === null) return 'first';
    return this.#chosen('second') === null ? 'second' : 'impossible';
  }

  /** @param {'first'|'second'|'impossible'} question
   * @param {string|null} name null for no other class */
  #choose(question, name) {
    const box = this.#boxes(question).find((each) => this.classOf(each) === name);
    if (!box) return;
    box.checked = question === 'impossible' ? !box.checked : true;
    this.#update();
    if (question === 'impossible') box.focus();
    else if (name === null) this.#boxes('impossible')[0].focus();
    else this.one(`[data-name="${question}_percent"]`)?.focus();
  }

  /** Why the answer is incomplete, in the order of the questions; `wrong` marks contradictions.
   * @returns {{question: Question, sentence: string, wrong: boolean}[]} */
  #problems() {
    const [first, second] = [this.#chosen('first'), this.#chosen('second')];
    const [ofFirst, ofSecond] = [this.#percent('first_percent'), this.#percent('second_percent')];
    const ruledOut = this.#impossible().find((name) => name === first || name === second);
    const named = second !== null && second !== NONE;
    /** @type {[Question, boolean, string][]} */
    const checks = [
      ['first', first === null, say('need_first')],
      ['first_percent', ofFirst === null, say('need_first_percent')],
      ['first_percent', ofFirst === 0, say('first_zero')],
      ['second', second === null, say('need_second')],
      ['second', named && second === first, say('same', { name: String(first) })],
      ['second_percent', named && ofSecond === null, say('need_second_percent')],
      ['second_percent', named && (ofFirst ?? 0) + (ofSecond ?? 0) > 100, say('too_much')],
      [
        'second_percent',
        named && ofFirst !== null && (ofSecond ?? 0) > ofFirst,
        say('reversed'),
      ],
      ['impossible', ruledOut !== undefined, say('ruled_out', { name: ruledOut ?? '' })],
    ];
    return checks
      .filter(([, holds]) => holds)
      .map(([question, , sentence]) => ({ question, sentence, wrong: this.#contradicts(question) }));
  }

  /** Whether a question with a problem has been answered, so that the answer itself is wrong.
   * @param {Question} question */
  #contradicts(question) {
    if (question === 'first' || question === 'second') return this.#chosen(question) !== null;
    return question === 'impossible' || this.#field(question).value.trim() !== '';
  }

  #update() {
    const none = this.#chosen('second') === NONE;
    this.#field('second_percent').disabled = none;
    this.one('[data-question="second_percent"]')?.classList.toggle('idle', none);
    const problems = this.#problems().filter((each) => each.wrong);
    for (const part of this.all('[data-question]')) {
      const problem = problems.find((each) => each.question === part.dataset.question);
      const line = part.querySelector('.problem');
      if (line) line.textContent = problem?.sentence ?? '';
      part.classList.toggle('wrong', problem !== undefined);
      part.querySelector('input[type="text"]')?.setAttribute('aria-invalid', String(problem !== undefined));
    }
    this.changed();
  }

  /** @param {'first'|'second'|'impossible'} question
   * @returns {HTMLInputElement[]} */
  #boxes(question) {
    return [.../** @type {NodeListOf<HTMLInputElement>} */ (this.querySelectorAll(`input[name="${question}"]`))];
  }

  /** The class chosen; NONE for no other class, null for no answer yet.
   * @param {'first'|'second'} question
   * @returns {string|typeof NONE|null} */
  #chosen(question) {
    const box = this.#boxes(question).find((each) => each.checked);
    return box ? this.classOf(box) ?? NONE : null;
  }

  /** @returns {string[]} */
  #impossible() {
    return this.#boxes('impossible').filter((each) => each.checked).map((each) => this.classOf(each) ?? '');
  }

  /** @param {'first_percent'|'second_percent'} question
   * @returns {HTMLInputElement} */
  #field(question) {
    return /** @type {HTMLInputElement} */ (this.querySelector(`input[data-name="${question}"]`));
  }

  /** The percentage entered, with a comma or a point; null if it is not a number from 0 to 100.
   * @param {'first_percent'|'second_percent'} question */
  #percent(question) {
    const text = this.#field(question).value.replace('%', '').replace(',', '.').trim();
    return /^\d+(\.\d*)?$|^\.\d+$/.test(text) && Number(text) <= 100 ? Number(text) : null;
  }

  /** @param {'first_percent'|'second_percent'} question */
  #typed(question) {
    const percent = this.#percent(question);
    return percent === null ? '' : say('percent', { n: percent });
  }
}

customElements.define('sfumato-top-two', TopTwo);
