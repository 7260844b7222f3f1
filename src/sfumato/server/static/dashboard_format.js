/** Formats of numbers, times and amounts on the dashboard. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** "1,204".
 * @param {number} n */
export const count = (n) => whole.format(n);

/** "60.2%".
 * @param {number} n */
export const share = (n) => tenths.format(n);

/** "60%".
 * @param {number} n */
export const percent = (n) => `${Math.round(100 * n)}%`;

/** "1 answer", "2,000 answers".
 * @param {number} n
 * @param {string} noun
 * @param {string} [plural] */
export const counted = (n, noun, plural) => `${whole.format(n)} ${n === 1 ? noun : (plural ?? `${noun}s`)}`;

/** A duration: "4.2 s", "12 min", "3 h 20 min", "5 days".
 * @param {number} seconds */
export function span(seconds) {
  if (seconds < 90) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 10) return `${hours} h ${minutes % 60} min`;
  return hours < 48 ? `${Math.round(minutes / 60)} h` : `${Math.round(hours / 24)} days`;
}

/** The time of day, with the date if it is not today.
 * @param {number} ms */
export function moment(ms) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`;
}

/** "GBP 4.50".
 * @param {number} amount
 * @param {string} currency */
export const money = (amount, currency) =>
  `${currency} ${amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
