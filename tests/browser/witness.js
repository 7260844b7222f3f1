/**
 * A witness in the page, put there by the tests before anything else runs. It tells, in order: `submitted` (the page
 * took the answer to a trial), `born` (a page begins), `stored` and `aside` (the server said so of a trial), `saved` (the line in the head
 * changed), `code` (the page shows a completion code).
 */
(() => {
  const tell = (what, detail) => globalThis.tellTheTest(what, detail);
  tell('born', '');
  const send = globalThis.fetch;
  globalThis.fetch = async (address, options) => {
    const reply = await send(address, options);
    if (String(address).endsWith('/api/answers')) {
      const said = await reply.clone().json().catch(() => ({}));
      const { trial } = JSON.parse(options.body);
      if ((reply.status === 200 || reply.status === 201) && said.answer) tell('stored', trial);
      if (reply.status === 409 && said.code) tell('aside', trial);
    }
    return reply;
  };

  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const last = { saved: '', code: '' };
  new MutationObserver((records) => {
    for (const { type, target, oldValue } of records) {
      if (type === 'attributes' && oldValue && !target.dataset.open) tell('submitted', oldValue);
    }
    for (const name of ['saved', 'code']) {
      if (last[name] !== text(`#${name}`)) {
        last[name] = text(`#${name}`);
        tell(name, last[name]);
      }
    }
  }).observe(document, {
    subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ['data-open'], attributeOldValue: true,
  });
})();
