/** Tells the server once per minute that the participant is active, so that their leases are renewed. */

const EVERY_MS = 60_000;
const RECENT_MS = 120_000;

/** Calls `send` every minute while the page is visible and there was input in the last two minutes.
 * @param {() => void} send */
export function startHeartbeat(send) {
  let last = performance.now();
  for (const type of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchmove', 'scroll']) {
    document.addEventListener(type, () => (last = performance.now()), { passive: true, capture: true });
  }
  setInterval(() => {
    if (!document.hidden && performance.now() - last < RECENT_MS) send();
  }, EVERY_MS);
}
