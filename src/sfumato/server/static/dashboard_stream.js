/** Keeps the page up to date by server-sent events, and by polling while the stream is interrupted. */

const ASK_EVERY_MS = 5000;
const NAMES = ['progress', 'items', 'times', 'people', 'opinions', 'cost', 'happenings', 'adaptive', 'arms', 'trouble'];

/** Calls `show` with every section that arrives and `say` with the state of the connection.
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
      // Browsers reconnect after most errors, but not after an error status.
      if (made.readyState === EventSource.CLOSED) again(ASK_EVERY_MS);
      else void ask();
    });
    return made;
  }

  /** Polls after a delay, and opens a new stream when the server replies.
   * @param {number} afterMs */
  function again(afterMs) {
    clearTimeout(waiting);
    waiting = window.setTimeout(async () => {
      if (await ask()) stream = opened();
      else again(ASK_EVERY_MS);
    }, afterMs);
  }

  /** Requests all figures; reloads the page if the session has ended.
   * @returns {Promise<boolean>} */
  async function ask() {
    const reply = await fetch('/studio/state', { cache: 'no-store' }).catch(() => null);
    if (reply?.status === 401) location.reload();
    if (reply?.ok) show(await reply.json());
    if (stream.readyState !== EventSource.OPEN) say(reply?.ok ? 'asking' : 'cut off');
    return Boolean(reply?.ok);
  }
}
