/**
 * A recorder in the page, added by the tests before any other script. It reports, in order: `submitted` (the page
 * accepted the answer to a trial), `born` (a page begins), `stored` and `aside` (the server's reply about a trial),
 * `saved` (the line in the head changed), `code` (the page shows a completion code).
 */
(() => {
  const report = (what, detail) => globalThis.reportToTest(what, detail);
  report('born', '');
  const send = globalThis.fetch;
  globalThis.fetch = async (address, options) => {
    const reply = await send(address, options);
    if (String(address).endsWith('/api/answers')) {
      const said = await reply.clone().json().catch(() => ({}));
      const { trial } = JSON.parse(options.body);
      if ((reply.status === 200 || reply.status === 201) && said.answer) report('stored', trial);
      if (reply.status === 409 && said.code) report('aside', trial);
    }
    return reply;
  };

  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const last = { saved: '', code: '' };
  new MutationObserver((records) => {
    for (const { type, target, oldValue } of records) {
      if (type === 'attributes' && oldValue && !target.dataset.open) report('submitted', oldValue);
    }
    for (const name of ['saved', 'code']) {
      if (last[name] !== text(`#${name}`)) {
        last[name] = text(`#${name}`);
        report(name, last[name]);
      }
    }
  }).observe(document, {
    subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ['data-open'], attributeOldValue: true,
  });
})();
