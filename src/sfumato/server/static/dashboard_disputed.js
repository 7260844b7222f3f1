/** The panel of the most disputed items: each with its picture or text and every answer. */

import { byId, element } from './dom.js';
import { counted, percent } from './dashboard_format.js';

const MOST_CLASSES = 5;

/** @param {Record<string, any>} summary
 * @param {string[]} classes of the study; the position of a class gives its color */
export function showDisputed(summary, classes) {
  const disputed = summary.disputed ?? [];
  byId('disputed-note').textContent = disputed.length
    ? 'The items with the most disagreement. Each stripe is one answer; the list below shows their mean. Equal stripes of several colors mean that everybody is unsure in the same way.'
    : 'No disputed items so far.';
  byId('disputed').replaceChildren(...disputed.map((/** @type {any} */ each) => card(each, summary.classes, classes)));
}

/** @param {Record<string, any>} each
 * @param {string[]} names
 * @param {string[]} classes */
function card(each, names, classes) {
  const made = element('li');
  if (each.has_picture) {
    made.append(element('img', '', { src: `/studio/pictures/${each.number}`, alt: `Item ${each.item}`, loading: 'lazy' }));
  } else if (each.text) {
    made.append(element('p', each.text, { class: 'shown-text' }));
  }
  const ordered = each.shares
    .map((/** @type {number} */ n, /** @type {number} */ k) => ({ name: names[k], n, colour: classes.indexOf(names[k]) }))
    .filter((/** @type {any} */ one) => one.n > 0)
    .sort((/** @type {any} */ a, /** @type {any} */ b) => b.n - a.n);
  const list = element('ul', '', { class: 'shares' });
  for (const { name, n, colour } of ordered.slice(0, MOST_CLASSES)) {
    const row = element('li');
    const swatch = element('span', '', { class: 'swatch share', 'data-colour': String(Math.max(colour, 0) % 10) });
    row.append(swatch, element('span', name, { class: 'class' }), element('span', percent(n), { class: 'n' }));
    list.append(row);
  }
  const rest = ordered.slice(MOST_CLASSES).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.n, 0);
  if (rest > 0) list.append(element('li', `others ${percent(rest)}`, { class: 'small' }));
  const caption = element('p', `${each.item} · ${counted(each.n_answers, 'answer')}`, { class: 'small caption' });
  made.append(stripes(each, names, classes), caption, list);
  return made;
}

/** Every answer as a stripe, sorted by its most likely class.
 * @param {Record<string, any>} each
 * @param {string[]} names
 * @param {string[]} classes */
function stripes(each, names, classes) {
  const place = (/** @type {number} */ k) => each.shares.filter((/** @type {number} */ n) => n > each.shares[k]).length;
  const most = (/** @type {number[]} */ answer) => answer.indexOf(Math.max(...answer));
  const ordered = [...each.each].sort((a, b) => place(most(a)) - place(most(b)) || Math.max(...b) - Math.max(...a));
  const all = element('div', '', { class: 'stripes', role: 'img', 'aria-label': `${counted(ordered.length, 'answer')}, one stripe per answer` });
  for (const answer of ordered) {
    const stripe = element('span', '', { class: 'stripe' });
    const order = [...answer.keys()].sort((a, b) => place(a) - place(b) || a - b);
    for (const k of order.filter((one) => answer[one] > 0)) {
      const piece = element('span', '', { class: 'share', 'data-colour': String(Math.max(classes.indexOf(names[k]), 0) % 10) });
      piece.style.width = `${100 * answer[k]}%`;
      stripe.append(piece);
    }
    all.append(stripe);
  }
  return all;
}
