/** Keeps the page fresh: by a stream of events, and by asking now and then while that is broken. */

const ASK_EVERY_MS = 5000;
const NAMES = ['progress', 'items', 'times', 'people', 'opinions', 'cost', 'happenings', 'adaptive', 'arms', 'trouble'];

/** Tells `show` of every part of the page that comes, `say` how it comes.
 * @param {(parts: Record<string, any>) => void} show
 * @param {(how: 'live'|'asking'|'cut off') => void} say */
export function follow(show, say) {
  let stream = opened();
  let waiting = 0;

  function opened() {
    const made = new EventSource('/studio/events');
    made.addEventListener('open', () => say('live'));
    for (const name of NAMES) {
      made.addEventListener(name, (event) => show({ [name]: JSON.parse(/** @type {MessageEvent} */ (event).data) }));
    }
    made.addEventListener('ended', () => {
      made.close();
      again(0);
    });
    made.addEventListener('error', () => {
      // A browser tries again by itself after most faults, but not after a reply that says no.
      if (made.readyState === EventSource.CLOSED) again(ASK_EVERY_MS);
      else void ask();
    });
    return made;
  }

  /** Asks after a while, and opens another stream once there is a reply.
   * @param {number} afterMs */
  function again(afterMs) {
    clearTimeout(waiting);
    waiting = window.setTimeout(async () => {
      if (await ask()) stream = opened();
      else again(ASK_EVERY_MS);
    }, afterMs);
  }

  /** Asks for all figures at once; who is known no longer sees the door instead.
   * @returns {Promise<boolean>} */
  async function ask() {
    const reply = await fetch('/studio/state', { cache: 'no-store' }).catch(() => null);
    if (reply?.status === 401) location.reload();
    if (reply?.ok) show(await reply.json());
    if (stream.readyState !== EventSource.OPEN) say(reply?.ok ? 'asking' : 'cut off');
    return Boolean(reply?.ok);
  }
}
