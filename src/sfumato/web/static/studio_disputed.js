/** The items people dispute most: each with its picture or text, and how the answers lie. */

import { byId, element } from './dom.js';
import { counted, share } from './studio_words.js';

const MOST_CLASSES = 5;

/** @param {Record<string, any>} said
 * @param {string[]} classes the study's, in its order, which gives each its colour */
export function showDisputed(said, classes) {
  const disputed = said.disputed ?? [];
  byId('disputed-note').textContent = disputed.length
    ? 'The items where people differ most, from their answers so far; unsure is not disputed.'
    : 'Nothing is disputed so far.';
  byId('disputed').replaceChildren(...disputed.map((/** @type {any} */ each) => card(each, said.classes, classes)));
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
    const bar = element('span', '', { class: 'share', 'data-colour': String(Math.max(colour, 0) % 10) });
    bar.style.width = `${100 * n}%`;
    const track = element('span', '', { class: 'track', 'aria-hidden': 'true' });
    track.append(bar);
    row.append(element('span', name, { class: 'class' }), track, element('span', share(n), { class: 'n' }));
    list.append(row);
  }
  const rest = ordered.slice(MOST_CLASSES).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.n, 0);
  if (rest > 0) list.append(element('li', `others ${share(rest)}`, { class: 'small' }));
  made.append(element('p', `${each.item} · ${counted(each.n_answers, 'answer')}`, { class: 'small caption' }), list);
  return made;
}
