/** SVG charts of the dashboard, drawn to the available width: bar charts and intervals, each with a text description. */

const NAMESPACE = 'http://www.w3.org/2000/svg';
const HEIGHT = 190;
const LEFT = 40;
const BELOW = 34;
const ABOVE = 14;
const LETTER = 7;

/**
 * @typedef {object} Bar
 * @property {string} label below the bar
 * @property {number} n
 * @property {string} says the tooltip
 */

/** @typedef {{bars: Bar[], xTitle: string, yTitle: string, says: string, isScale?: boolean, mark?: {at: number, says: string}}} Chart */

/** @type {Map<HTMLElement, Chart>} */
const drawn = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = drawn.get(/** @type {HTMLElement} */ (target));
    if (chart) draw(/** @type {HTMLElement} */ (target), chart);
  }
});

/** Shows bars in `place`, now and whenever its width changes.
 * @param {HTMLElement} place
 * @param {Chart} chart */
export function showBars(place, chart) {
  if (!drawn.has(place)) watcher.observe(place);
  drawn.set(place, chart);
  draw(place, chart);
}

/** An SVG element.
 * @param {string} name
 * @param {Record<string, string|number>} attributes
 * @param {string} [text]
 * @returns {SVGElement} */
export function part(name, attributes, text = '') {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text) made.textContent = text;
  return made;
}

/** @param {HTMLElement} place
 * @param {Chart} chart */
function draw(place, chart) {
  const width = Math.max(place.clientWidth, 200);
  const drawing = part('svg', { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': chart.says });
  const bottom = HEIGHT - BELOW;
  const top = roundUp(Math.max(...chart.bars.map((bar) => bar.n), 1));
  const heightOf = (/** @type {number} */ n) => ((bottom - ABOVE) * n) / top;
  for (const n of new Set([0, top / 2, top])) {
    const y = bottom - heightOf(n);
    drawing.append(part('line', { x1: LEFT, x2: width, y1: y, y2: y, class: n ? 'grid' : 'axis' }));
    if (Number.isInteger(n)) {
      drawing.append(part('text', { x: LEFT - 6, y: y + 4, class: 'tick', 'text-anchor': 'end' }, short(n)));
    }
  }
  const step = (width - LEFT) / Math.max(chart.bars.length, 1);
  const longest = Math.max(...chart.bars.map((bar) => bar.label.length), 1);
  const every = Math.max(1, Math.ceil(((longest + 1) * LETTER) / step));
  chart.bars.forEach((bar, i) => {
    const x = LEFT + i * step;
    const height = heightOf(bar.n);
    const rect = part('rect', { x: x + step * 0.1, y: bottom - height, width: step * 0.8, height, class: 'bar' });
    rect.append(part('title', {}, bar.says));
    drawing.append(rect);
    if (i % every === 0) {
      // On a continuous scale a bar extends from its label to the next one.
      drawing.append(part('text', { x: chart.isScale ? x : x + step / 2, y: bottom + 15, class: 'tick', 'text-anchor': 'middle' }, bar.label));
    }
  });
  if (chart.mark) {
    const x = LEFT + step * chart.mark.at;
    const anchor = x > width * 0.7 ? 'end' : 'start';
    drawing.append(part('line', { x1: x, x2: x, y1: 2, y2: bottom, class: 'mark' }));
    drawing.append(part('text', { x: x + (anchor === 'end' ? -5 : 5), y: 11, class: 'note', 'text-anchor': anchor }, chart.mark.says));
  }
  drawing.append(part('text', { x: width, y: HEIGHT - 3, class: 'tick', 'text-anchor': 'end' }, chart.xTitle));
  drawing.append(part('text', { x: 0, y: HEIGHT - 3, class: 'tick' }, chart.yTitle));
  place.replaceChildren(drawing);
}

/** A value between 0 and 1 with its interval.
 * @param {number} value
 * @param {number|null} low
 * @param {number|null} high
 * @returns {SVGElement} */
export function between(value, low, high) {
  const x = (/** @type {number} */ n) => 4 + 112 * Math.min(Math.max(n, 0), 1);
  const drawing = part('svg', { width: 120, height: 16, viewBox: '0 0 120 16', 'aria-hidden': 'true', class: 'between' });
  drawing.append(part('line', { x1: 4, x2: 116, y1: 8, y2: 8, class: 'grid' }));
  if (low !== null && high !== null) drawing.append(part('line', { x1: x(low), x2: x(high), y1: 8, y2: 8, class: 'limits' }));
  drawing.append(part('circle', { cx: x(value), cy: 8, r: 4, class: 'dot' }));
  return drawing;
}

/** Rounds up to 1, 2, 4, 5 or 8 times a power of ten, so that half of it is a whole number if possible.
 * @param {number} n */
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 4, 5, 8, 10].map((step) => step * power).find((each) => each >= n) ?? n;
}

/** @param {number} n */
function short(n) {
  return n < 10_000 ? n.toLocaleString('en') : `${n / 1000}k`;
}
