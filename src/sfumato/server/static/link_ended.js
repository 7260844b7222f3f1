/** The page of an expired link: sends the answers that are still stored in this browser. */

import { Api } from './api.js';
import { byId } from './dom.js';
import { Outbox } from './outbox.js';

const outbox = await Outbox.open(new Api(location.pathname), location.pathname);
if (outbox.waiting.length) {
  outbox.addEventListener('change', show);
  show();
}

function show() {
  byId('sending').hidden = outbox.waiting.length === 0;
  byId('sent').hidden = outbox.waiting.length > 0;
}
