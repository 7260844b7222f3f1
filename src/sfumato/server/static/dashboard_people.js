/** The table of annotators by pseudonym; a click on a column heading sorts it. */

import { byId, element } from './dom.js';
import { count, counted, moment } from './dashboard_format.js';

const FLAGS = /** @type {Record<string, string>} */ ({
  checks_passed: 'failed checks',
  repeats_changed: 'repeats change',
  median_seconds: 'hasty',
  longest_run: 'same answer in a row',
  contradictions: 'contradictions',
  crowd_fit: 'unlike the others',
  copied: 'same answers as another',
  time_spread: 'regular times',
  impossible_times: 'impossible times',
  without_input: 'no input',
  same_device: 'same device',
  same_network: 'same network',
});
const STATES = ['working', 'away', 'finished', 'withdrawn', 'excluded'];

/** @typedef {Record<string, any>} Person */
/** @typedef {{id: string, title: string, order: (person: Person) => number|string|null, shown: (person: Person) => string, numeric?: boolean}} Column */

let sortedBy = 'seen';
let descending = true;
/** @type {{rows: Person[], n: number, study: Record<string, any>}} */
let last = { rows: [], n: 0, study: {} };

/** @param {{rows: Person[], n: number}} people
 * @param {Record<string, any>} study */
export function showPeople(people, study) {
  last = { ...people, study };
  show();
}

/** @param {string} rule */
const flagName = (rule) => FLAGS[rule] ?? rule;

/** @param {Record<string, any>} study
 * @returns {Column[]} */
function columns(study) {
  /** @type {(Column|false)[]} */
  const all = [
    { id: 'name', title: 'annotator', order: (p) => p.name, shown: (p) => p.name },
    { id: 'state', title: 'state', order: (p) => STATES.indexOf(p.state), shown: (p) => p.state },
    { id: 'answers', title: 'answers', order: (p) => p.answers, shown: (p) => count(p.answers), numeric: true },
    { id: 'seconds', title: 'median time', order: (p) => p.seconds, shown: (p) => (p.seconds === null ? '–' : `${p.seconds.toFixed(1)} s`), numeric: true },
    study.has_checks && { id: 'checks', title: 'checks failed', order: (p) => p.checks?.failed ?? null, shown: (p) => (p.checks ? `${p.checks.failed} of ${p.checks.passed + p.checks.failed}` : '–'), numeric: true },
    study.has_repeats && { id: 'same', title: 'repeats, same class', order: (p) => (p.repeats ? p.repeats.same / p.repeats.n : null), shown: (p) => (p.repeats ? `${p.repeats.same} of ${p.repeats.n}` : '–'), numeric: true },
    study.has_repeats && { id: 'moved', title: 'mean change', order: (p) => p.repeats?.moved ?? null, shown: (p) => (p.repeats ? p.repeats.moved.toFixed(2) : '–'), numeric: true },
    { id: 'flags', title: 'flags', order: (p) => p.flags.length + p.signs.length / 100, shown: (p) => [...p.flags.map(flagName), ...p.signs.map((/** @type {string} */ each) => `(${flagName(each)})`)].join(', ') || '–' },
    study.arms.length > 1 && { id: 'arm', title: 'arm', order: (p) => p.arm, shown: (p) => study.arms[p.arm] ?? String(p.arm) },
    { id: 'seen', title: 'last seen', order: (p) => p.seen_at, shown: (p) => (p.seen_at ? moment(p.seen_at) : '–') },
  ];
  return /** @type {Column[]} */ (all.filter(Boolean));
}

function show() {
  const shown = columns(last.study);
  const cut = last.rows.length < last.n ? ` Only the ${count(last.rows.length)} most recently active are shown.` : '';
  const repeats = last.study.has_repeats ? ' Mean change: total variation between the two answers, from 0 (none) to 1.' : '';
  byId('people-note').textContent = last.n
    ? `${counted(last.n, 'person', 'people')}, by pseudonym. Click a heading to sort.${cut}${repeats} Flags are reasons to look, not verdicts; those in brackets exclude nobody.`
    : 'No participants yet.';
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.sort : undefined;
  const table = byId('people');
  table.hidden = !last.n;
  const by = shown.find((column) => column.id === sortedBy) ?? shown[0];
  const rows = [...last.rows].sort((a, b) => compare(by.order(a), by.order(b)) || compare(a.name, b.name));
  const head = element('tr');
  head.append(...shown.map(heading));
  const body = rows.map((person) => {
    const row = element('tr', '', { 'data-state': person.state });
    row.append(...shown.map((column, i) => element(i ? 'td' : 'th', column.shown(person), {
      ...(i ? {} : { scope: 'row' }), ...(column.numeric ? { class: column.id === 'checks' && person.marked ? 'numeric marked' : 'numeric' } : {}),
      ...(column.id === 'flags' && person.flags.length ? { class: 'flagged' } : {}),
    })));
    return row;
  });
  const top = element('thead');
  top.append(head);
  const rest = element('tbody');
  rest.append(...body);
  table.replaceChildren(top, rest);
  if (focused) /** @type {HTMLElement|null} */ (table.querySelector(`[data-sort="${focused}"]`))?.focus();
}

/** @param {Column} column */
function heading(column) {
  const cell = element('th', '', { scope: 'col', ...(column.numeric ? { class: 'numeric' } : {}) });
  const isIt = column.id === sortedBy;
  if (isIt) cell.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
  const button = element('button', column.title, { type: 'button', 'data-sort': column.id });
  button.append(element('span', isIt ? (descending ? ' ↓' : ' ↑') : '', { 'aria-hidden': 'true' }));
  button.addEventListener('click', () => {
    descending = isIt ? !descending : column.id !== 'name' && column.id !== 'state';
    sortedBy = column.id;
    show();
  });
  cell.append(button);
  return cell;
}

/** Compares in the current direction; missing values come last in both directions.
 * @param {number|string|null} a
 * @param {number|string|null} b */
function compare(a, b) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (a === b) return 0;
  return (a < b ? -1 : 1) * (descending ? -1 : 1);
}
