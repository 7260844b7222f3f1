/** Keeps the page fresh: by a stream of events, and by asking now and then while that is broken. */

const ASK_EVERY_MS = 5000;
const TRY_AGAIN_MS = 30_000;
const NAMES = ['progress', 'items', 'times', 'people', 'opinions', 'cost', 'happenings', 'adaptive', 'arms', 'trouble'];

/** Tells `show` of every part of the page that comes, `say` how it comes.
 * @param {(parts: Record<string, any>) => void} show
 * @param {(how: 'live'|'asking'|'cut off') => void} say */
export function follow(show, say) {
  let asking = 0;
  open();

  function open() {
    const stream = new EventSource('/studio/events');
    stream.addEventListener('open', () => {
      clearInterval(asking);
      asking = 0;
      say('live');
    });
    for (const name of NAMES) {
      stream.addEventListener(name, (event) => show({ [name]: JSON.parse(/** @type {MessageEvent} */ (event).data) }));
    }
    stream.addEventListener('ended', () => {
      stream.close();
      void ask();
      instead();
    });
    stream.addEventListener('error', () => {
      // A browser tries again by itself after most faults, but not after a reply that says no.
      if (stream.readyState === EventSource.CLOSED) instead();
      else say('cut off');
      void ask();
    });
  }

  function instead() {
    if (!asking) asking = window.setInterval(ask, ASK_EVERY_MS);
    window.setTimeout(open, TRY_AGAIN_MS);
  }

  async function ask() {
    const reply = await fetch('/studio/state', { cache: 'no-store' }).catch(() => null);
    if (reply?.status === 401) location.reload();
    if (!reply?.ok) return say('cut off');
    show(await reply.json());
    say('asking');
  }
}
