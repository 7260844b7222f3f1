/** The login form: sends the password, and the code if one is asked for;
 * shows the same message for every wrong one. */

import { byId } from './dom.js';

const form = /** @type {HTMLFormElement} */ (byId('login'));
const field = /** @type {HTMLInputElement} */ (byId('password'));
const code = /** @type {HTMLInputElement | null} */ (document.querySelector('#code'));
field.focus();
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  byId('wrong').textContent = '';
  const reply = await fetch('/studio/login', {
    method: 'POST', cache: 'no-store', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(code ? { password: field.value, code: code.value } : { password: field.value }),
  }).catch(() => null);
  if (reply?.ok) return location.replace('/studio');
  const wait = reply?.headers.get('Retry-After');
  field.value = '';
  if (code) code.value = '';
  field.focus();
  byId('wrong').textContent = reply?.status === 429
    ? `Too many attempts. Try again in ${wait} seconds.`
    : reply?.status === 401 ? `Wrong password${code ? ' or code' : ''}. Try again.`
    : reply ? 'The server could not do this now. Try again in a moment.' : 'The server did not answer. Try again in a moment.';
});
