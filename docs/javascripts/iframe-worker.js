/** Searching from disk: a page opened as a file gets no workers, so what searches runs in a hidden frame instead. */
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    #waiting = [];
    #inside = null;

    constructor(url) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      frame.srcdoc = '<!doctype html><title>search</title><body></body>';
      frame.addEventListener('load', () => this.#run(frame.contentWindow, url), { once: true });
      document.body.append(frame);
    }

    postMessage(data) {
      if (this.#inside === null) this.#waiting.push(data);
      else this.#inside.dispatchEvent(new MessageEvent('message', { data }));
    }

    #run(inside, url) {
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', { data }));
      const script = inside.document.createElement('script');
      script.src = url;
      script.addEventListener('load', () => {
        this.#inside = inside;
        for (const data of this.#waiting.splice(0)) this.postMessage(data);
      });
      inside.document.body.append(script);
    }
  };
}
