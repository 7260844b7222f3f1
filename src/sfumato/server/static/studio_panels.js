/** The panels of the researcher's page: each shows one part of what the server tells. */

import { byId, element } from './dom.js';
import { between as drawnBetween, showBars } from './studio_charts.js';
import { count, counted, moment, money, percent, share, span } from './studio_words.js';

const MEASURES = /** @type {Record<string, [string, string]>} */ ({
  'alpha-nominal': ['Same class, beyond chance', 'Krippendorff’s alpha; 1 is perfect, 0 is chance'],
  'alpha-ordinal': ['Same place in the order, beyond chance', 'Krippendorff’s alpha'],
  'alpha-distributions': ['Same belief, beyond chance', 'alpha for whole distributions'],
  'total-variation': ['How far apart two people are', 'total variation; 0 is the same belief'],
  'retest-same-class': ['Own repeats keep the class', 'share of answers given again'],
  'retest-total-variation': ['How far own repeats move', 'total variation'],
});

/** @typedef {Record<string, any>} Part */

/** How far an adaptive study is: what it need not ask for any more is done, too.
 * @param {Part} far
 * @param {Part|undefined} saved
 * @returns {Part} */
export function withSavings(far, saved) {
  if (!saved) return { ...far, saved: 0 };
  const open = Math.max(far.wanted - far.counted, 1);
  const left = far.left_seconds === null ? null : (far.left_seconds * Math.max(open - saved.saved, 0)) / open;
  return { ...far, saved: saved.saved, items_done: saved.finished, left_seconds: left };
}

/** @param {Part} far
 * @param {Part} study */
export function showProgress(far, study) {
  byId('answers').textContent = count(far.answers);
  byId('of-wanted').textContent = `${study.is_adaptive ? 'of at most' : 'of'} ${counted(far.wanted, 'answer')} wanted`;
  const bar = /** @type {HTMLProgressElement} */ (byId('progress'));
  bar.value = far.wanted ? (far.counted + far.saved) / far.wanted : 0;
  bar.textContent = share(bar.value);
  const { people } = far;
  const [left, why] = timeLeft(far, study);
  byId('figures').replaceChildren(
    figure('people', count(people.all), `${count(people.working)} at it now, ${count(people.finished)} finished`),
    figure('pace', count(far.pace), 'answers an hour, lately'),
    figure('time left', left, why),
    figure('items done', count(far.items_done), `of ${count(far.items)}, ${study.is_adaptive ? 'at most ' : ''}${counted(far.answers_per_item, 'answer')} each${study.arms.length > 1 ? ' in every arm' : ''}`),
  );
}

/** The time left, and what that rests on.
 * @param {Part} far
 * @param {Part} study
 * @returns {[string, string]} */
function timeLeft(far, study) {
  if (isWhole(far)) return ['none', 'every item has its answers'];
  if (far.paused_at !== null) return ['–', 'the study is paused'];
  if (far.left_seconds === null) return ['–', 'nobody has answered lately'];
  // Nobody knows it to the minute where it takes hours.
  const rough = far.left_seconds > 3600 ? 600 * Math.round(far.left_seconds / 600) : far.left_seconds;
  return [span(rough), `${study.is_adaptive ? 'at most' : 'about'}, if it goes on like this`];
}

/** @param {Part} far */
const isWhole = (far) => far.wanted > 0 && far.counted + far.saved >= far.wanted;

/** @param {Part} far */
export function showState(far) {
  const paused = far.paused_at !== null;
  byId('state').dataset.state = paused ? 'paused' : 'running';
  byId('state-text').textContent = paused ? `Paused since ${moment(far.paused_at)}` : isWhole(far) ? 'All answers are in' : 'Running';
  byId('pause').hidden = paused;
  byId('resume').hidden = !paused;
  byId('answers-now').textContent = `now ${far.answers_per_item}`;
  const field = /** @type {HTMLInputElement} */ (byId('answers-per-item'));
  field.min = String(far.answers_per_item + 1);
  const low = far.disk?.is_low;
  alarm('disk', low ? `Only ${far.disk.free_gb} GB are left on the disk of the store. Answers are refused, and kept by the browsers, once it is full.` : '');
}

/** @param {Part|null} cost */
export function showCost(cost) {
  document.getElementById('figure-cost')?.remove();
  if (!cost) return;
  const fee = cost.fee ? `, with ${share(cost.fee)} fee` : '';
  const left = cost.left ? `, ${money(cost.left, '')}for who left` : '';
  const beside = `${money(cost.under_way, '')}under way${left}; to the end about ${money(cost.to_the_end, cost.currency)}${fee}`;
  const box = figure('cost so far', money(cost.so_far, cost.currency), beside);
  box.id = 'figure-cost';
  byId('figures').append(box);
}

/** @param {Part[]} bars
 * @param {Part} far
 * @param {Part} study */
export function showItems(bars, far, study) {
  const total = bars.reduce((sum, bar) => sum + bar.n, 0);
  const wanted = far.answers_per_item * Math.max(study.arms.length, 1);
  const width = bars.length ? bars[0].last - bars[0].first + 1 : 1;
  const label = (/** @type {Part} */ bar) => (width === 1 ? `${bar.first}` : `${bar.first}–${bar.last}`);
  const says = total
    ? `Histogram: ${counted(total, 'item')} by their number of answers; ${count(far.items_done)} done.`
    : 'No items are asked about.';
  const within = bars.length && wanted <= bars[bars.length - 1].last;
  showBars(byId('items-chart'), {
    bars: bars.map((bar) => ({ label: label(bar), n: bar.n, says: `${label(bar)} answers: ${counted(bar.n, 'item')}` })),
    xTitle: 'answers', yTitle: 'items', says,
    mark: within ? { at: (wanted + 0.5) / width, says: study.is_adaptive ? 'most' : 'wanted' } : undefined,
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
  const says = times.n ? `Histogram: seconds an answer, ${of}; half take ${span(times.median)} or less.` : 'No answers yet.';
  showBars(byId('times-chart'), {
    bars: bars.map((/** @type {Part} */ bar) => ({ label: label(bar), n: bar.n, says: `${long(bar)}: ${counted(bar.n, 'answer')}` })),
    xTitle: 'seconds', yTitle: 'answers', says, isScale: true,
    mark: times.n ? { at: Math.min(times.median / width, bars.length), says: `median ${span(times.median)}` } : undefined,
  });
  showTable('times-table', ['seconds', 'answers'], bars.map((/** @type {Part} */ bar) => [long(bar), count(bar.n)]));
}

/** @param {Part} said */
export function showAgreement(said) {
  const place = byId('agreement');
  const between = (said.agreement ?? []).filter((/** @type {Part} */ each) => !isOwn(each));
  place.replaceChildren(...(between.length ? measures(between, said) : [element('p', excuse(said), { class: 'small' })]));
}

/** How far people's own answers stay when they meet an item again, over the whole study.
 * @param {Part} said
 * @param {Part} study */
export function showSteady(said, study) {
  byId('steady-panel').hidden = !study.has_repeats;
  const own = (said.agreement ?? []).filter(isOwn);
  const none = 'Shown once somebody has met an item again.';
  byId('steady').replaceChildren(...(own.length ? measures(own, said) : [element('p', none, { class: 'small' })]));
}

/** @param {Part} each */
const isOwn = (each) => each.measure.startsWith('retest-');

/** Measures with their intervals, and of how many answers they are.
 * @param {Part[]} shown
 * @param {Part} said
 * @returns {HTMLElement[]} */
function measures(shown, said) {
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
  const { n_answers: answers, n_items: items } = shown[0];
  const of = isOwn(shown[0]) ? counted(answers, 'repeated answer') : counted(answers, 'answer');
  return [list, element('p', `From ${of} about ${counted(items, 'item')}; 95% intervals over items. ${sampled(said)}`, { class: 'small' })];
}

/** @param {Part} said */
function whereDoubtLies(said) {
  const { total, within, between: apart } = said.doubt;
  if (!total) return 'There is none: everybody says the same, and is sure.';
  if (said.is_hard) return 'Everybody names one class, and is not asked how sure they are: all doubt shows between people, who disagree.';
  return `${percent(within / total)} of it lies within people, who are unsure; ${percent(apart / total)} between them, who disagree.`;
}

/** @param {Part} said */
export function showDoubt(said) {
  const place = byId('doubt');
  if (!said.doubt) {
    place.replaceChildren(element('p', excuse(said), { class: 'small' }));
    return;
  }
  const { total, within, between: apart, most, n_items: items } = said.doubt;
  const sentence = whereDoubtLies(said);
  const about = `${total.toFixed(3)} nats an item on average, where ${most.toFixed(2)} would be no idea at all; from ${counted(items, 'item')} with two answers or more. ${sampled(said)}`;
  place.replaceChildren(
    element('p', sentence),
    parts([['within', within, `within people: ${within.toFixed(3)}`], ['apart', apart, `between people: ${apart.toFixed(3)}`], ['open', Math.max(most - total, 0), 'no doubt']], sentence),
    element('p', about, { class: 'small' }),
  );
}

/** @param {Part} saved
 * @param {Part} study */
export function showSaved(saved, study) {
  byId('adaptive').hidden = !study.is_adaptive;
  const hours = saved.saved_hours >= 0.1 ? `, about ${saved.saved_hours.toFixed(1)} hours of answering` : '';
  const sentence = saved.saved
    ? `${counted(saved.saved, 'answer')} need not be asked for: ${share(saved.saved_share)} of the ${count(saved.most)} that the same number for every item would take${hours}.`
    : 'No item has reached its target yet; what that saves is shown here.';
  byId('saved-sentence').textContent = sentence;
  const error = saved.error === null ? '' : `; error still expected ${saved.error.toFixed(3)} ${saved.index === 'kl' ? 'nats' : 'squared'}${saved.target === null ? '' : `, target ${saved.target}`}`;
  byId('saved-parts').replaceChildren(
    parts([['within', saved.answers, 'given'], ['apart', saved.saved, 'not needed'], ['open', Math.max(saved.most - saved.answers - saved.saved, 0), 'may still be asked']], sentence),
    element('p', `${count(saved.finished)} of ${counted(saved.items, 'item')} finished; ${saved.on_average.toFixed(1)} answers an item on average${error}.`, { class: 'small' }),
  );
}

/** The forms that are compared, side by side.
 * @param {Part[]} arms */
export function showArms(arms) {
  byId('arms-panel').hidden = false;
  const rows = arms.map((arm) => [
    arm.name, arm.kind, count(arm.people), count(arm.answers), arm.median_seconds === null ? '–' : `${arm.median_seconds.toFixed(1)} s`,
  ]);
  showTable('arms', ['arm', 'form', 'people', 'answers', 'median time'], rows, 2);
}

/** @param {Part[]} happenings */
export function showHappened(happenings) {
  const rows = happenings.map((each) => {
    const row = element('li');
    row.append(element('time', moment(each.at), { datetime: new Date(each.at).toISOString() }));
    const line = element('span', `${each.what[0].toUpperCase()}${each.what.slice(1)}`);
    line.append(element('span', [each.who, aboutOf(each.about)].filter(Boolean).join('; '), { class: 'small' }));
    row.append(line);
    return row;
  });
  byId('happened').replaceChildren(...(rows.length ? rows : [element('li', 'Nothing yet.', { class: 'small' })]));
}

/** A warning above everything, or none.
 * @param {string} name whose it is
 * @param {string} text */
export function alarm(name, text) {
  const place = byId('alarm');
  if (text) place.dataset.of = name;
  else if (place.dataset.of !== name) return;
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

/** @param {string} name
 * @param {string} value
 * @param {string} beside
 * @returns {HTMLElement} */
function figure(name, value, beside) {
  const box = element('div');
  const shown = element('dd', value);
  shown.append(element('small', beside));
  box.append(element('dt', name), shown);
  return box;
}

/** One bar of several parts, and what each is.
 * @param {[string, number, string][]} shown class, size and words of each part
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
 * @param {number} [nTexts] how many columns at the start are no numbers */
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

/** Why there is nothing to see.
 * @param {Part} said */
function excuse(said) {
  if (said.state === 'no-classes') return 'This kind of question does not speak of classes.';
  if (said.state === 'missing') return `This machine only serves: it lacks ${said.package}. Export the answers and look at them elsewhere.`;
  if (said.state === 'trouble') return 'The answers could not be looked at just now.';
  return 'Shown once two people have answered about the same item.';
}

/** @param {Part} said */
function sampled(said) {
  return said.every > 1 ? `Of every ${said.every}th item only: there are many answers.` : '';
}

/** @param {string} text */
function aboutOf(text) {
  try {
    const about = JSON.parse(text);
    if (about === null || typeof about !== 'object') return String(about);
    return Object.entries(about).filter(([key]) => key !== 'file').map(([key, value]) => `${key} ${value}`).join(', ');
  } catch {
    return text;
  }
}
