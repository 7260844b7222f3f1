/** Helpers that build pages from the templates of study.html. Text is always inserted as text. */

/** @param {string} id
 * @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page lacks #${id}`);
  return found;
}

/** A copy of `<template id="page-NAME">`.
 * @param {string} id
 * @returns {DocumentFragment} */
export function copy(id) {
  return document.importNode(/** @type {HTMLTemplateElement} */ (byId(id)).content, true);
}

/** The part of `root` with this data-part.
 * @param {ParentNode} root
 * @param {string} name
 * @returns {HTMLElement} */
export function part(root, name) {
  const found = root.querySelector(`[data-part="${name}"]`);
  if (!(found instanceof HTMLElement)) throw new Error(`the page lacks the part ${name}`);
  return found;
}

/** An element with text and attributes.
 * @param {string} tag
 * @param {string} [text]
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLElement} */
export function element(tag, text = '', attributes = {}) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Puts HTML that the server made from the study's Markdown (raw HTML is off there) into `target`.
 * @param {HTMLElement} target
 * @param {string} html */
export function setServerHtml(target, html) {
  target.innerHTML = html;
}

/** Runs `act` when `button` is pressed; presses while it still runs do nothing.
 * @param {HTMLElement} button
 * @param {() => unknown} act */
export function onPress(button, act) {
  let running = false;
  button.addEventListener('click', async () => {
    if (running) return;
    running = true;
    button.setAttribute('aria-busy', 'true');
    try {
      await act();
    } finally {
      running = false;
      button.removeAttribute('aria-busy');
    }
  });
}
