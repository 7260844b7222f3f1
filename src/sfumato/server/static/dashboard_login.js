/** The login form: sends the password, and shows the same message for every wrong one. */

import { byId } from './dom.js';

const form = /** @type {HTMLFormElement} */ (byId('login'));
const field = /** @type {HTMLInputElement} */ (byId('password'));
field.focus();
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  byId('wrong').textContent = '';
  const reply = await fetch('/studio/login', {
    method: 'POST', cache: 'no-store', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ password: field.value }),
  }).catch(() => null);
  if (reply?.ok) return location.replace('/studio');
  const wait = reply?.headers.get('Retry-After');
  field.value = '';
  field.focus();
  byId('wrong').textContent = reply?.status === 429
    ? `Too many attempts. Try again in ${wait} seconds.`
    : reply ? 'Wrong password. Try again.' : 'The server did not answer. Try again in a moment.';
});
