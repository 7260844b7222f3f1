/** Actions of the dashboard: pause, resume, extend, download, log out. */

import { byId, onPress } from './dom.js';

/** Sends JSON; returns the reply or throws an error with a readable message.
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>} */
async function send(path, body = {}) {
  const reply = await fetch(path, {
    method: 'POST', cache: 'no-store', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  }).catch(() => null);
  if (!reply) throw new Error('The server did not answer. Try again in a moment.');
  if (reply.status === 401) location.reload();
  const data = await reply.json().catch(() => ({}));
  if (reply.ok) return data;
  const found = String(data.found ?? '').replace(/^found /, '') || 'the server could not do this';
  throw new Error(`Not done: ${found}. ${data.fix ? `${data.fix[0].toUpperCase()}${data.fix.slice(1)}.` : ''}`);
}

/** Runs an action and shows its result.
 * @param {() => Promise<string>} act */
async function tell(act) {
  const place = byId('said');
  place.classList.remove('wrong');
  place.textContent = '';
  try {
    place.textContent = await act();
  } catch (error) {
    place.classList.add('wrong');
    place.textContent = error instanceof Error ? error.message : String(error);
  }
}

/** @param {Record<string, any>} study */
export function control(study) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('confirm'));
  const pressed = (/** @type {string} */ name) => /** @type {HTMLElement} */ (document.querySelector(`[data-name="${name}"]`));
  onPress(byId('pause'), () => dialog.showModal());
  onPress(pressed('pause-no'), () => dialog.close());
  onPress(pressed('pause-yes'), () => {
    dialog.close();
    return tell(async () => {
      await send('/studio/pause');
      return 'Paused: nobody gets a new item.';
    });
  });
  onPress(byId('resume'), () => tell(async () => {
    await send('/studio/resume');
    return 'Resumed.';
  }));
  for (const [id, everywhere] of /** @type {const} */ ([['logout', false], ['logout-everywhere', true]])) {
    onPress(byId(id), async () => {
      await send('/studio/logout', { everywhere }).catch(() => null);
      location.replace('/studio');
    });
  }
  byId('extend').hidden = study.is_adaptive;
  byId('no-extension').hidden = !study.is_adaptive;
  byId('extend').addEventListener('submit', (event) => {
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (byId('answers-per-item'));
    void tell(async () => {
      await send('/studio/extend', { answers_per_item: field.valueAsNumber });
      const wanted = field.value;
      field.value = '';
      return `Every item now gets ${wanted} answers.`;
    });
  });
  for (const button of document.querySelectorAll('[data-download]')) {
    const { download: what, format } = /** @type {HTMLElement} */ (button).dataset;
    onPress(/** @type {HTMLElement} */ (button), () => tell(async () => {
      byId('said').textContent = 'Preparing the file …';
      const { path } = await send('/studio/downloads', { what, format });
      const link = document.createElement('a');
      link.href = path;
      link.download = '';
      link.click();
      return 'The file was downloaded.';
    }));
  }
}
