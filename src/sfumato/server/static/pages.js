/** All pages except the trials, filled in from the templates of study.html. */

import { copy, element, onPress, part, setServerHtml } from './dom.js';
import { gallery, keyList } from './legend.js';
import { say } from './texts.js';
import { newForm, UNSURE_KEY } from './trial.js';

/** @typedef {import('./session_flow.js').Config} Config */

/** @param {Config} config
 * @param {() => unknown} agree
 * @param {() => unknown} decline
 * @returns {DocumentFragment} */
export function consent(config, agree, decline) {
  const page = copy('page-consent');
  setServerHtml(part(page, 'text'), config.study.consent_html);
  pay(page, config);
  bonus(page, config);
  onPress(part(page, 'agree'), agree);
  onPress(part(page, 'decline'), decline);
  return page;
}

/** @param {Config} config
 * @param {() => unknown} proceed
 * @returns {DocumentFragment} */
export function instructions(config, proceed) {
  const page = copy('page-instructions');
  setServerHtml(part(page, 'text'), config.study.instructions_html);
  pay(page, config);
  // The consent page has already shown the pay; the bonus rule is shown on both pages.
  part(page, 'pay').hidden ||= config.study.consent_html !== '';
  bonus(page, config);
  part(page, 'classes').append(gallery(config.classes));
  part(page, 'keys').append(keyLists(config));
  onPress(part(page, 'continue'), proceed);
  return page;
}

/** The lists of keys, one per question.
 * @param {Config} config
 * @returns {Node} */
export function keyLists(config) {
  const lists = config.questions.map((_, n) => {
    const unsure = config.unsure && n === 0 ? [[[UNSURE_KEY], say('keys.unsure')]] : [];
    return keyList([...newForm(config, null, n).legend(), .../** @type {[string[], string][]} */ (unsure)]);
  });
  if (lists.length === 1) return lists[0];
  const all = document.createDocumentFragment();
  lists.forEach((list, n) => all.append(element('h3', config.questions[n].prompt), list));
  return all;
}

/** The questions about the instructions; `check` gets the choices in order when all are made.
 * @param {Config} config
 * @param {(answers: string[]) => unknown} check
 * @param {(sentence: string) => void} announce
 * @returns {DocumentFragment} */
export function comprehension(config, check, announce) {
  const page = copy('page-comprehension');
  const list = part(page, 'questions');
  config.comprehension.forEach(({ question, choices }, n) => {
    const group = element('fieldset', '', { class: 'question' });
    group.append(element('legend', question));
    choices.forEach((choice, c) => {
      const label = element('label', '', { class: 'option' });
      const input = element('input', '', { type: 'radio', name: `question-${n}`, value: choice, 'data-name': `question:${n}:${c}` });
      label.append(input, element('span', choice));
      group.append(label);
    });
    list.append(group);
  });
  const groups = [...list.children];
  const hint = part(page, 'hint');
  onPress(part(page, 'check'), () => {
    const chosen = groups.map((group) => /** @type {HTMLInputElement|null} */ (group.querySelector('input:checked')));
    const open = chosen.indexOf(null);
    if (open < 0) return check(chosen.map((input) => input?.value ?? ''));
    hint.textContent = say('comprehension.open', { n: open + 1 });
    announce(hint.textContent);
    return groups[open].querySelector('input')?.focus();
  });
  return page;
}

/** Some answers about the instructions were wrong; shown before the instructions are read again.
 * @param {import('./api.js').State} state
 * @param {() => unknown} again
 * @returns {DocumentFragment} */
export function wrong(state, again) {
  const page = copy('page-wrong');
  const left = state.attempts_left;
  part(page, 'attempts').textContent = left === undefined ? '' : say('wrong.attempts', { n: left });
  onPress(part(page, 'again'), again);
  return page;
}

/** @param {number} done
 * @param {number} wanted
 * @param {() => unknown} proceed
 * @returns {DocumentFragment} */
export function rest(done, wanted, proceed) {
  const page = copy('page-rest');
  part(page, 'sentence').textContent = say('rest.done', { n: done, wanted });
  onPress(part(page, 'continue'), proceed);
  return page;
}

/** @param {import('./api.js').State} state
 * @param {Config} config
 * @returns {DocumentFragment} */
export function finished(state, config) {
  const page = copy('page-finished');
  const code = state.code ?? '';
  part(page, 'close').hidden = state.back !== undefined;
  redirect(page, state.back);
  // The code is shown once, large and with a copy button.
  part(page, 'back-code').hidden = true;
  if (state.back) part(page, 'code-label').textContent = say('back.code', { platform: state.back.platform });
  part(page, 'with-code').hidden = !code;
  const shown = part(page, 'code');
  shown.textContent = code;
  pay(page, config);
  // The stated pay is that for everything; somebody for whom nothing more was left is paid for the batches they began.
  part(page, 'pay').hidden ||= state.answered < state.wanted;
  const copied = part(page, 'copied');
  onPress(part(page, 'copy'), async () => {
    copied.textContent = (await toClipboard(code, shown)) ? say('finished.copied') : say('finished.selected');
  });
  return page;
}

/** The page of somebody who was sent back.
 * @param {'excluded'|'full'} name
 * @param {import('./api.js').State} state
 * @returns {DocumentFragment} */
export function sentBack(name, state) {
  const page = copy(`page-${name}`);
  redirect(page, state.back);
  return page;
}

/** @param {Config} config
 * @param {() => unknown} proceed
 * @returns {DocumentFragment} */
export function declined(config, proceed) {
  const page = plain('declined', proceed);
  redirect(page, config.declined);
  return page;
}

/** The redirect to the platform: a link, or a form if the platform expects one.
 * @param {DocumentFragment} page
 * @param {import('./api.js').Back} [back] */
function redirect(page, back) {
  part(page, 'back').hidden = !back;
  if (!back) return;
  part(page, 'back-code').textContent = `${say('back.code', { platform: back.platform })} ${back.code}`;
  const form = /** @type {HTMLFormElement} */ (part(page, 'back-form'));
  const fields = Object.entries(back.fields);
  form.hidden = fields.length === 0;
  part(page, 'back-link').hidden = fields.length > 0;
  if (fields.length) form.action = back.url;
  else part(page, 'back-link').querySelector('a')?.setAttribute('href', back.url);
  form.append(...fields.map(([name, value]) => element('input', '', { type: 'hidden', name, value })));
}

/** A page with one button or none.
 * @param {string} name
 * @param {() => unknown} [proceed]
 * @returns {DocumentFragment} */
export function plain(name, proceed) {
  const page = copy(`page-${name}`);
  if (proceed) onPress(part(page, 'continue'), proceed);
  return page;
}

/** @param {DocumentFragment} page
 * @param {Config} config */
function pay(page, config) {
  const line = part(page, 'pay');
  line.hidden = !config.study.pay;
  line.textContent = config.study.pay ?? '';
}

/** @param {DocumentFragment} page
 * @param {Config} config */
function bonus(page, config) {
  const line = part(page, 'bonus');
  line.hidden = !config.study.bonus;
  line.textContent = config.study.bonus ?? '';
}

/** @param {string} text
 * @param {HTMLElement} shown the element with the text, selected if it cannot be copied
 * @returns {Promise<boolean>} */
async function toClipboard(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    return document.execCommand('copy');
  }
}
