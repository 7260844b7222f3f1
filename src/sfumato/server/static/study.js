/**
 * Entry point of the study page: creates the modules and starts.
 *
 * session_flow (next page) -> participant_state, pages, trial (one trial on the screen) -> recorder, pictures, form.
 * api and outbox (-> answer_storage) send requests; page_frame, keys and legend are shared by all pages.
 */

import { Api } from './api.js';
import { byId, onPress } from './dom.js';
import { SessionFlow } from './session_flow.js';
import { PageFrame } from './page_frame.js';
import { scopeOf } from './identity.js';
import { Keys } from './keys.js';
import { LocalStorage } from './local_storage.js';
import { Outbox } from './outbox.js';
import * as pages from './pages.js';
import { startHeartbeat } from './heartbeat.js';
import { say } from './texts.js';

/** @type {import('./session_flow.js').Config} */
const config = JSON.parse(byId('config').textContent ?? '');
const frame = new PageFrame();
const storage = new LocalStorage(scopeOf(config.base));
const shortcuts = /** @type {HTMLInputElement} */ (byId('shortcuts'));
const helpDialog = /** @type {HTMLDialogElement} */ (byId('help-dialog'));
const stopDialog = /** @type {HTMLDialogElement} */ (byId('stop-dialog'));

document.documentElement.style.setProperty('--picture', `${config.study.size}px`);
document.documentElement.dataset.upscale = config.study.upscale;
if (config.keeps_cookies === false) showLinkToSave();

await start();

async function start() {
  try {
    await Promise.all(config.questions.map(({ kind }) => import(`/static/kinds/${kind}/form.js`)));
  } catch {
    frame.show(pages.plain('broken', () => location.reload()), 'broken');
    return;
  }
  const api = new Api(config.base);
  const outbox = await Outbox.open(api, config.base);
  const flow = new SessionFlow(config, api, outbox, frame, storage, () => shortcuts.checked);
  api.onTrouble = (failing) => {
    const sentence = say('frame.no_connection');
    if (failing) frame.notice(sentence);
    else if (byId('notice-text').textContent === sentence) frame.notice('');
  };
  keyboard(flow);
  dialogs(flow);
  startHeartbeat(() => flow.sendHeartbeat());
  // The page was restored from the browser's cache: its state may be out of date.
  addEventListener('pageshow', (event) => event.persisted && flow.refresh());
  document.addEventListener('visibilitychange', () => document.hidden || flow.refresh());
  addEventListener('beforeunload', (event) => {
    if (outbox.fragile || (outbox.failing && outbox.waiting.length)) event.preventDefault();
  });
  await flow.refresh();
}

/** Without the cookie of the first visit, people return only by their own link. */
function showLinkToSave() {
  const note = byId('no-cookies');
  byId('link-to-save').textContent = location.href;
  byId('no-cookies-close').addEventListener('click', () => (note.hidden = true));
  note.hidden = false;
}

/** @param {SessionFlow} flow */
function keyboard(flow) {
  shortcuts.checked = storage.get('shortcuts') !== 'off';
  shortcuts.addEventListener('change', () => storage.set('shortcuts', shortcuts.checked ? 'on' : 'off'));
  new Keys({
    shortcuts: () => shortcuts.checked,
    press: (key, event) => (flow.view?.open && (flow.view.form?.press(key, event) || flow.view.press(key))) || false,
    answering: () => flow.view?.open ?? false,
    enter: () => {
      const button = document.querySelector('main [data-enter]');
      if (flow.view?.open) flow.view.submit();
      else if (button instanceof HTMLElement) button.click();
    },
    help: () => openHelp(),
    classKeys: () => config.classes.flatMap((each) => each.key ?? []),
  });
}

/** @param {SessionFlow} flow */
function dialogs(flow) {
  for (const dialog of [helpDialog, stopDialog]) {
    dialog.addEventListener('close', () => flow.view?.form?.focus({ preventScroll: true }));
  }
  byId('help').addEventListener('click', openHelp);
  byId('help-close').addEventListener('click', () => helpDialog.close());
  byId('own-link').textContent = location.href;
  byId('stop').addEventListener('click', () => stopDialog.showModal());
  byId('stop-no').addEventListener('click', () => stopDialog.close());
  onPress(byId('stop-yes'), async () => {
    await flow.withdraw();
    stopDialog.close();
  });
}

function openHelp() {
  byId('help-keys').replaceChildren(pages.keyLists(config));
  helpDialog.showModal();
}
