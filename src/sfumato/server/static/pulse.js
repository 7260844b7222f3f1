/** Pulse: tells the server once a minute that the person is still there, so that their items stay theirs. */

const EVERY_MS = 60_000;
const RECENT_MS = 120_000;

/** Calls `beat` every minute while the page is visible and something was done in the last two.
 * @param {() => void} beat */
export function pulse(beat) {
  let last = performance.now();
  for (const type of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchmove', 'scroll']) {
    document.addEventListener(type, () => (last = performance.now()), { passive: true, capture: true });
  }
  setInterval(() => {
    if (!document.hidden && performance.now() - last < RECENT_MS) beat();
  }, EVERY_MS);
}
