/** The list of classes with example pictures, and the list of keys. */

import { element } from './dom.js';
import { say } from './texts.js';

/** The classes, each with its example picture and key.
 * @param {import('./form.js').StudyClass[]} classes
 * @returns {HTMLElement} */
export function gallery(classes) {
  const list = element('ul', '', { class: classes.some((each) => each.example) ? 'gallery pictured' : 'gallery' });
  for (const each of classes) {
    const row = element('li');
    if (each.example) row.append(element('img', '', { src: each.example, alt: say('instructions.example', { name: each.name }) }));
    const caption = element('span', '', { class: 'caption' });
    caption.append(element('span', each.name));
    if (each.key) caption.append(keycap(each.key));
    row.append(caption);
    list.append(row);
  }
  return list;
}

/** The list of keys: those of the form, then those of the page.
 * @param {[string[], string][]} lines
 * @returns {HTMLElement} */
export function keyList(lines) {
  const list = element('dl', '', { class: 'keys' });
  const all = [...lines, [['enter'], say('keys.submit')], [['?'], say('keys.show')]];
  for (const [keys, meaning] of /** @type {[string[], string][]} */ (all)) {
    const row = element('div');
    const term = element('dt');
    term.append(...keys.map(keycap));
    row.append(term, element('dd', meaning));
    list.append(row);
  }
  return list;
}

const ARROWS = new Map([['arrowleft', '←'], ['arrowright', '→'], ['arrowup', '↑'], ['arrowdown', '↓']]);
/** Keys whose names depend on the language. */
const NAMED = new Map([
  ['enter', 'enter'], ['backspace', 'backspace'], ['delete', 'delete'], ['shift', 'shift'], ['tab', 'tab'], [' ', 'space'],
]);

/** A key as it is printed on the keyboard.
 * @param {string} key
 * @returns {HTMLElement} */
export function keycap(key) {
  const named = NAMED.get(key.toLowerCase());
  return element('kbd', named ? say(`keys.${named}`) : ARROWS.get(key.toLowerCase()) ?? key);
}
