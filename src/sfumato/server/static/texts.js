/** The sentences of the page in the participant's language, as the server wrote them into it (server/locale). */

const found = document.getElementById('texts')?.textContent;
/** @type {Record<string, any>} */
const catalog = found ? JSON.parse(found) : {};
const rules = new Intl.PluralRules(document.documentElement.lang || 'en');

/** The sentence at `key` with values filled in by name; `n` selects the plural form.
 * @param {string} key
 * @param {Record<string, string|number>} [values]
 * @returns {string} */
export function say(key, values = {}) {
  /** @type {any} */
  let sentence = catalog;
  for (const part of key.split('.')) sentence = sentence?.[part];
  if (sentence && typeof sentence === 'object') sentence = sentence[formOf(sentence, Number(values.n))];
  if (typeof sentence !== 'string') throw new Error(`no sentence ${key}`);
  return sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
}

/** `say` for the keys of one table.
 * @param {string} table
 * @returns {(key: string, values?: Record<string, string|number>) => string} */
export function sayer(table) {
  return (key, values) => say(`${table}.${key}`, values);
}

/** @param {Record<string, string>} forms
 * @param {number} n */
function formOf(forms, n) {
  if (n === 0 && 'zero' in forms) return 'zero';
  const form = rules.select(n);
  return form in forms ? form : 'other';
}
