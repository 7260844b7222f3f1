/** The researcher's page: the numbers, filled in and kept fresh. */

import { byId, element } from './dom.js';

const EVERY_MS = 5000;
const MOST_ROWS = 40;
const number = new Intl.NumberFormat('en');
const share = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/**
 * @typedef {object} Adaptive
 * @property {number} items
 * @property {number} finished
 * @property {number} most
 * @property {number} saved
 * @property {number} saved_share
 * @property {number} saved_hours
 * @property {number} on_average
 * @property {number|null} error
 * @property {string} index
 * @property {number|null} target
 * @property {number[]} answers_of_items
 */

/**
 * @typedef {object} StudioState
 * @property {number} annotators
 * @property {number} finished
 * @property {number} answers
 * @property {number} wanted
 * @property {number} seconds
 * @property {Adaptive} [adaptive]
 */

/** @type {{base: string, state: StudioState}} */
const config = JSON.parse(byId('config').textContent ?? '');
show(config.state);
setInterval(refresh, EVERY_MS);

async function refresh() {
  if (document.hidden) return;
  const reply = await fetch(`${config.base}/state`, { cache: 'no-store' }).catch(() => null);
  if (reply?.ok) show(await reply.json());
}

/** @param {StudioState} state */
function show(state) {
  byId('at').textContent = new Date().toLocaleTimeString('en-GB');
  const { adaptive } = state;
  const most = adaptive ? 'at most' : 'of';
  byId('figures').replaceChildren(
    figure('answers', number.format(state.answers), `${most} ${number.format(state.wanted)}`),
    figure('people', number.format(state.annotators), `${number.format(state.finished)} finished`),
    figure('seconds an answer', state.answers ? state.seconds.toFixed(1) : '–', 'on average'),
    ...(adaptive ? adaptiveFigures(adaptive) : []),
  );
  byId('adaptive').hidden = !adaptive;
  if (adaptive) showSaved(adaptive, state.answers);
}

/** @param {Adaptive} adaptive */
function adaptiveFigures(adaptive) {
  const items = figure('items finished', number.format(adaptive.finished), `of ${number.format(adaptive.items)}`);
  const each = figure('answers an item', adaptive.on_average.toFixed(1), 'on average so far');
  if (adaptive.error === null) return [items, each];
  const unit = adaptive.index === 'kl' ? 'nats' : 'squared';
  const target = adaptive.target === null ? unit : `${unit}; target ${adaptive.target}`;
  return [items, each, figure('error still expected', adaptive.error.toFixed(3), target)];
}

/** @param {Adaptive} adaptive
 * @param {number} answers */
function showSaved(adaptive, answers) {
  const hours = adaptive.saved_hours >= 0.1 ? `, about ${adaptive.saved_hours.toFixed(1)} hours of answering` : '';
  const sentence = adaptive.saved
    ? `${number.format(adaptive.saved)} answers need not be asked for: ${share.format(adaptive.saved_share)} of the ` +
      `${number.format(adaptive.most)} that the same number for every item would take${hours}.`
    : 'No item has reached its target yet; what that saves is shown here.';
  byId('saved-sentence').textContent = sentence;
  const meter = byId('meter');
  meter.setAttribute('aria-label', sentence);
  for (const [part, n] of /** @type {[string, number][]} */ ([['given', answers], ['saved', adaptive.saved]])) {
    const bar = /** @type {HTMLElement} */ (meter.querySelector(`[data-part="${part}"]`));
    bar.style.width = `${(100 * n) / Math.max(adaptive.most, 1)}%`;
  }
  const top = Math.max(...adaptive.answers_of_items, 1);
  const rows = adaptive.answers_of_items.slice(0, MOST_ROWS).map((items, n) => {
    const row = element('tr');
    const bar = element('progress', '', { max: String(top), value: String(items), 'aria-label': `${items} items` });
    const cell = element('td');
    cell.append(bar);
    row.append(element('td', String(n)), element('td', number.format(items)), cell);
    return row;
  });
  byId('histogram').querySelector('tbody')?.replaceChildren(...rows);
}

/** @param {string} name
 * @param {string} value
 * @param {string} beside */
function figure(name, value, beside) {
  const box = element('div');
  const shown = element('dd', value);
  shown.append(element('small', beside));
  box.append(element('dt', name), shown);
  return box;
}
