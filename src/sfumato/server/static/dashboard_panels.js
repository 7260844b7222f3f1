/** The panels of the dashboard; each shows one section of the server's figures. */

import { byId, element } from './dom.js';
import { between as drawnBetween, showBars } from './dashboard_charts.js';
import { count, counted, moment, money, percent, share, span } from './dashboard_format.js';

const MEASURES = /** @type {Record<string, [string, string]>} */ ({
  'alpha-nominal': ['Krippendorff’s alpha, nominal', 'same class; 1 is perfect agreement, 0 is chance'],
  'alpha-ordinal': ['Krippendorff’s alpha, ordinal', 'same position in the order of the classes'],
  'alpha-distributions': ['Krippendorff’s alpha, distributions', 'same belief over all classes'],
  'weighted-kappa': ['Weighted kappa', 'quadratic weights; mean over pairs of annotators'],
  'total-variation': ['Distance between two annotators', 'total variation; 0 is the same belief'],
  'retest-same-class': ['Repeats with the same class', 'share of repeated answers'],
  'retest-total-variation': ['Change of repeated answers', 'total variation; 0 is no change'],
});

/** @typedef {Record<string, any>} Part */

/** The progress of an adaptive study; answers that are not needed count as done.
 * @param {Part} progress
 * @param {Part|undefined} saved
 * @returns {Part} */
export function withSavings(progress, saved) {
  if (!saved) return { ...progress, saved: 0 };
  const open = Math.max(progress.wanted - progress.counted, 1);
  const left = progress.left_seconds === null ? null : (progress.left_seconds * Math.max(open - saved.saved, 0)) / open;
  return { ...progress, saved: saved.saved, items_done: saved.finished, left_seconds: left };
}

/** @param {Part} progress
 * @param {Part} study */
export function showProgress(progress, study) {
  byId('answers').textContent = count(progress.answers);
  byId('of-wanted').textContent = `${study.is_adaptive ? 'of at most' : 'of'} ${counted(progress.wanted, 'answer')} wanted`;
  const bar = /** @type {HTMLProgressElement} */ (byId('progress'));
  bar.value = progress.wanted ? (progress.counted + progress.saved) / progress.wanted : 0;
  bar.textContent = share(bar.value);
  const { people } = progress;
  const [left, why] = timeLeft(progress, study);
  byId('figures').replaceChildren(
    figure('people', count(people.all), `${count(people.working)} active, ${count(people.finished)} finished`),
    figure('answers per hour', count(progress.pace), 'over the last 15 minutes'),
    figure('time left', left, why),
    figure('finished items', count(progress.items_done), `of ${count(progress.items)}, ${study.is_adaptive ? 'at most ' : ''}${counted(progress.answers_per_item, 'answer')} each${study.arms.length > 1 ? ' in every arm' : ''}`),
  );
}

/** The time left, and how it is estimated.
 * @param {Part} progress
 * @param {Part} study
 * @returns {[string, string]} */
function timeLeft(progress, study) {
  if (isWhole(progress)) return ['none', 'every item has its answers'];
  if (progress.paused_at !== null) return ['–', 'the study is paused'];
  if (progress.left_seconds === null) return ['–', 'no answers in the last 15 minutes'];
  // Hours are rounded to ten minutes.
  const rough = progress.left_seconds > 3600 ? 600 * Math.round(progress.left_seconds / 600) : progress.left_seconds;
  return [span(rough), `${study.is_adaptive ? 'at most' : 'about'}, at this speed`];
}

/** @param {Part} progress */
const isWhole = (progress) => progress.wanted > 0 && progress.counted + progress.saved >= progress.wanted;

/** @param {Part} progress */
export function showState(progress) {
  const paused = progress.paused_at !== null;
  byId('state').dataset.state = paused ? 'paused' : 'running';
  byId('state-text').textContent = paused ? `Paused since ${moment(progress.paused_at)}` : isWhole(progress) ? 'All answers collected' : 'Running';
  byId('pause').hidden = paused;
  byId('resume').hidden = !paused;
  byId('answers-now').textContent = `now ${progress.answers_per_item}`;
  const field = /** @type {HTMLInputElement} */ (byId('answers-per-item'));
  field.min = String(progress.answers_per_item + 1);
  const low = progress.disk?.is_low;
  showWarning('disk', low ? `Only ${progress.disk.free_gb} GB are free on the disk of the store. When it is full, answers are refused and stay in the browsers.` : '');
}

/** @param {Part|null} cost */
export function showCost(cost) {
  document.getElementById('figure-cost')?.remove();
  if (!cost) return;
  const fee = cost.fee ? `, including ${share(cost.fee)} fee` : '';
  const left = cost.left ? `, ${money(cost.left, cost.currency)} for people who left` : '';
  const pending = `${money(cost.under_way, cost.currency)} pending${left}; about ${money(cost.to_the_end, cost.currency)} in total${fee}`;
  const box = figure('cost so far', money(cost.so_far, cost.currency), pending);
  box.id = 'figure-cost';
  byId('figures').append(box);
}

/** @param {Part[]} bars
 * @param {Part} progress
 * @param {Part} study */
export function showItems(bars, progress, study) {
  const total = bars.reduce((sum, bar) => sum + bar.n, 0);
  const wanted = progress.answers_per_item * Math.max(study.arms.length, 1);
  const width = bars.length ? bars[0].last - bars[0].first + 1 : 1;
  const label = (/** @type {Part} */ bar) => (width === 1 ? `${bar.first}` : `${bar.first}–${bar.last}`);
  const says = total
    ? `Histogram: ${counted(total, 'item')} by their number of answers; ${count(progress.items_done)} done.`
    : 'The study has no items.';
  const within = bars.length && wanted <= bars[bars.length - 1].last;
  showBars(byId('items-chart'), {
    bars: bars.map((bar) => ({ label: label(bar), n: bar.n, says: `${label(bar)} answers: ${counted(bar.n, 'item')}` })),
    xTitle: 'answers', yTitle: 'items', says,
    mark: within ? { at: (wanted + 0.5) / width, says: study.is_adaptive ? 'maximum' : 'wanted' } : undefined,
  });
  showTable('items-table', ['answers', 'items'], bars.map((bar) => [label(bar), count(bar.n)]));
}

/** @param {Part} times */
export function showTimes(times) {
  const { bars } = times;
  const label = (/** @type {Part} */ bar) => (bar.to === null ? `${bar.from}+` : `${bar.from}`);
  const long = (/** @type {Part} */ bar) => (bar.to === null ? `${bar.from} s or more` : `${bar.from} to ${bar.to} s`);
  const of = times.is_sample ? `of a sample of ${count(times.n)} answers` : `of ${counted(times.n, 'answer')}`;
  const width = bars.length > 1 ? bars[1].from - bars[0].from : (bars[0]?.to ?? 1);
  const says = times.n ? `Histogram: seconds per answer, ${of}; median ${span(times.median)}.` : 'No answers yet.';
  showBars(byId('times-chart'), {
    bars: bars.map((/** @type {Part} */ bar) => ({ label: label(bar), n: bar.n, says: `${long(bar)}: ${counted(bar.n, 'answer')}` })),
    xTitle: 'seconds', yTitle: 'answers', says, isScale: true,
    mark: times.n ? { at: Math.min(times.median / width, bars.length), says: `median ${span(times.median)}` } : undefined,
  });
  showTable('times-table', ['seconds', 'answers'], bars.map((/** @type {Part} */ bar) => [long(bar), count(bar.n)]));
}

/** @param {Part} summary */
export function showAgreement(summary) {
  const place = byId('agreement');
  const between = (summary.agreement ?? []).filter((/** @type {Part} */ each) => !isOwn(each));
  place.replaceChildren(...(between.length ? measures(between, summary) : [element('p', emptyMessage(summary), { class: 'small' })]));
}

/** Consistency: agreement of repeated answers of the same annotator, over the whole study.
 * @param {Part} summary
 * @param {Part} study */
export function showConsistency(summary, study) {
  byId('steady-panel').hidden = !study.has_repeats;
  const own = (summary.agreement ?? []).filter(isOwn);
  const none = 'Shown when an annotator has answered an item again.';
  byId('steady').replaceChildren(...(own.length ? measures(own, summary) : [element('p', none, { class: 'small' })]));
}

/** @param {Part} each */
const isOwn = (each) => each.measure.startsWith('retest-');

/** Measures with their intervals and the number of answers.
 * @param {Part[]} shown
 * @param {Part} summary
 * @returns {HTMLElement[]} */
function measures(shown, summary) {
  const list = element('dl', '', { class: 'measures' });
  for (const each of shown) {
    const [name, meaning] = MEASURES[each.measure] ?? [each.measure, ''];
    const term = element('dt', name);
    term.append(element('span', meaning, { class: 'small' }));
    const value = element('dd');
    const limits = each.low === null ? 'no interval yet' : `${each.low.toFixed(2)} to ${each.high.toFixed(2)}`;
    value.append(element('strong', each.value.toFixed(2)), drawnBetween(each.value, each.low, each.high), element('span', limits, { class: 'small' }));
    const both = element('div');
    both.append(term, value);
    list.append(both);
  }
  const { n_answers: answers, n_items: items, n_annotators: people } = shown[0];
  const of = `${counted(answers, isOwn(shown[0]) ? 'repeated answer' : 'answer')} of ${counted(people, 'annotator')}`;
  const over = (shown.find((each) => each.low !== null) ?? shown[0]).over;
  const text = `From ${of} about ${counted(items, 'item')}; 95% intervals over ${over}. ${precision(shown)} ${sampled(summary)}`;
  return [list, element('p', text, { class: 'small' })];
}

/** What makes the interval of the first measure wide, and what would make it narrower.
 * @param {Part[]} shown */
function precision(shown) {
  const each = shown.find((some) => some.shares[0] !== null);
  if (!each) return '';
  const half = Object.fromEntries(Object.entries(each.half).map(([key, value]) => [key, value === null ? 'unknown' : `± ${Number(value).toFixed(2)}`]));
  const [items, people, answers] = each.shares;
  const name = (MEASURES[each.measure] ?? [each.measure])[0];
  return `${name}: ${half.another_crowd} for another crowd of this size, ${half.same_annotators} for these annotators, `
    + `${half.twice_the_items} with twice the items, ${half.twice_the_annotators} with twice the annotators `
    + `(variance: items ${percent(items)}, annotators ${percent(people)}, single answers ${percent(answers)}).`;
}

/** "14% (95% CI 10% to 19%)".
 * @param {Part} figure */
function withInterval(figure) {
  const digits = figure.low !== null && figure.high - figure.low < 0.05 ? 1 : 0;
  const shown = (/** @type {number} */ n) => `${(100 * n).toFixed(digits)}%`;
  return figure.low === null ? shown(figure.value) : `${shown(figure.value)} (95% CI ${shown(figure.low)} to ${shown(figure.high)})`;
}

/** @param {Part} summary */
function uncertaintySentence(summary) {
  const { dissent, within, between: apart } = summary.doubt;
  const sentence = `Two people give different answers in ${withInterval(dissent)} of cases.`;
  if (within === null) return `${sentence} Annotators choose one class and are not asked how sure they are, so all uncertainty is between annotators (disagreement).`;
  return `${sentence} Within annotators (unsure): ${withInterval(within)}; between annotators (disagreement): ${withInterval(apart)}.`;
}

/** @param {Part} summary */
export function showUncertainty(summary) {
  const place = byId('doubt');
  if (!summary.doubt) {
    place.replaceChildren(element('p', emptyMessage(summary), { class: 'small' }));
    return;
  }
  const { dissent, within, over, n_items: items } = summary.doubt;
  const sentence = uncertaintySentence(summary);
  const own = within === null ? 0 : within.value;
  const apart = Math.max(dissent.value - own, 0);
  const about = `From ${counted(items, 'item')} with two or more answers; intervals ${over}. ${sampled(summary)}`;
  const shown = /** @type {[string, number, string][]} */ ([
    ['within', own, `within annotators: ${share(own)}`], ['apart', apart, `between annotators: ${share(apart)}`], ['open', 1 - dissent.value, 'the same answer'],
  ]);
  place.replaceChildren(
    element('p', sentence),
    parts(within === null ? shown.slice(1) : shown, sentence),
    element('p', about, { class: 'small' }),
  );
}

/** @param {Part} saved
 * @param {Part} study */
export function showSavings(saved, study) {
  byId('adaptive').hidden = !study.is_adaptive;
  const hours = saved.saved_hours >= 0.1 ? `, about ${saved.saved_hours.toFixed(1)} hours of answering` : '';
  const sentence = saved.saved
    ? `${counted(saved.saved, 'answer')} not needed: ${share(saved.saved_share)} of the ${count(saved.most)} answers that a fixed number per item would take${hours}.`
    : 'No item has reached the threshold yet. Savings are shown here.';
  byId('saved-sentence').textContent = sentence;
  const error = saved.error === null ? '' : `; expected error ${saved.error.toFixed(3)} ${saved.index === 'kl' ? 'nats' : 'squared'}${saved.target === null ? '' : `, threshold ${saved.target}`}`;
  byId('saved-parts').replaceChildren(
    parts([['within', saved.answers, 'given'], ['apart', saved.saved, 'not needed'], ['open', Math.max(saved.most - saved.answers - saved.saved, 0), 'may still be asked']], sentence),
    element('p', `${count(saved.finished)} of ${counted(saved.items, 'item')} finished; ${saved.on_average.toFixed(1)} answers per item on average${error}.`, { class: 'small' }),
  );
}

/** The table of compared forms.
 * @param {Part[]} arms */
export function showArms(arms) {
  byId('arms-panel').hidden = false;
  const rows = arms.map((arm) => [
    arm.name, arm.kind, count(arm.people), count(arm.answers), arm.median_seconds === null ? '–' : `${arm.median_seconds.toFixed(1)} s`,
  ]);
  showTable('arms', ['arm', 'form', 'people', 'answers', 'median time'], rows, 2);
}

/** @param {Part[]} happenings */
export function showEvents(happenings) {
  const rows = happenings.map((each) => {
    const row = element('li');
    row.append(element('time', moment(each.at), { datetime: new Date(each.at).toISOString() }));
    const line = element('span', `${each.what[0].toUpperCase()}${each.what.slice(1)}`);
    line.append(element('span', [each.who, eventDetails(each.about)].filter(Boolean).join('; '), { class: 'small' }));
    row.append(line);
    return row;
  });
  byId('happened').replaceChildren(...(rows.length ? rows : [element('li', 'Nothing yet.', { class: 'small' })]));
}

/** Shows or removes the warning at the top of the page.
 * @param {string} name the cause
 * @param {string} text */
export function showWarning(name, text) {
  const place = byId('alarm');
  if (text) place.dataset.of = name;
  else if (place.dataset.of !== name) return;
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

/** @param {string} name
 * @param {string} value
 * @param {string} note
 * @returns {HTMLElement} */
function figure(name, value, note) {
  const box = element('div');
  const shown = element('dd', value);
  shown.append(element('small', note));
  box.append(element('dt', name), shown);
  return box;
}

/** One bar of several parts with a legend.
 * @param {[string, number, string][]} shown CSS class, size and label of each part
 * @param {string} says
 * @returns {HTMLElement} */
function parts(shown, says) {
  const total = shown.reduce((sum, [, n]) => sum + n, 0) || 1;
  const bar = element('div', '', { class: 'meter', role: 'img', 'aria-label': says });
  const key = element('ul', '', { class: 'key small' });
  for (const [name, n, words] of shown) {
    const piece = element('span', '', { class: name });
    piece.style.width = `${(100 * n) / total}%`;
    bar.append(piece);
    const line = element('li');
    line.append(element('span', '', { class: `swatch ${name}` }), words);
    key.append(line);
  }
  const both = element('div', '', { class: 'parts' });
  both.append(bar, key);
  return both;
}

/** @param {string} id
 * @param {string[]} heads
 * @param {string[][]} rows
 * @param {number} [nTexts] the number of text columns at the start */
function showTable(id, heads, rows, nTexts = 0) {
  const table = element('table', '', { class: 'numbers' });
  const looks = (/** @type {number} */ i) => (i < nTexts ? {} : { class: 'numeric' });
  const head = element('tr');
  head.append(...heads.map((text, i) => element('th', text, { scope: 'col', ...looks(i) })));
  const body = rows.map((row) => {
    const line = element('tr');
    line.append(...row.map((text, i) => element('td', text, looks(i))));
    return line;
  });
  const top = element('thead');
  top.append(head);
  const rest = element('tbody');
  rest.append(...body);
  table.append(top, rest);
  byId(id).replaceChildren(table);
}

/** Why there are no figures.
 * @param {Part} summary */
function emptyMessage(summary) {
  if (summary.state === 'no-classes') return 'Not available: answers to this question type name no classes.';
  if (summary.state === 'missing') return `Not available: ${summary.package} is not installed on the server. Export the answers and analyze them on another machine.`;
  if (summary.state === 'trouble') return 'The answers could not be read. The page tries again.';
  return 'Shown when two people have answered about the same item.';
}

/** @param {Part} summary */
function sampled(summary) {
  return summary.every > 1 ? `Based on every ${summary.every}th item, because there are many answers.` : '';
}

/** @param {string} text */
function eventDetails(text) {
  try {
    const about = JSON.parse(text);
    if (about === null || typeof about !== 'object') return String(about);
    return Object.entries(about).filter(([key]) => !['file', 'seal', 'through'].includes(key)).map(([key, value]) => `${key} ${value}`).join(', ');
  } catch {
    return text;
  }
}
