/** Similarity: two items side by side and a row of buttons, from not at all similar to nearly the same. */

import { Scale } from '/static/kinds/typicality/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.similarity');

class Similarity extends Scale {
  answer() {
    return this.chosen === null ? null : { rating: this.chosen };
  }

  status() {
    return this.chosen === null ? super.status() : say('said', { chosen: super.status() });
  }
}

customElements.define('sfumato-similarity', Similarity);
