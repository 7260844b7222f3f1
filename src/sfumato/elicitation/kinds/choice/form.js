/**
 * Choice: one class. A class key or a click chooses or changes the class, Enter submits. With the setting
 * `submit_at_once` the key or the click also submits.
 */
import { Form } from '/static/form.js';
import { sayer } from '/static/texts.js';

const say = sayer('kinds.choice');

class Choice extends Form {
  /** @type {string|null} */
  #chosen = null;

  begin() {
    this.addEventListener('click', (event) => {
      const name = this.classOf(event.target);
      if (name !== null) this.#choose(name);
    });
  }

  answer() {
    return this.#chosen === null ? null : { class: this.#chosen };
  }

  missing() {
    return this.#chosen === null ? say('missing') : '';
  }

  status() {
    return this.#chosen === null ? say('none') : say('chosen', { name: this.#chosen });
  }

  /** @param {string} key */
  press(key) {
    const chosen = this.shown.classes.find((each) => each.key?.toLowerCase() === key);
    if (!chosen) return false;
    this.#choose(chosen.name);
    return true;
  }

  /** @param {string} name */
  #choose(name) {
    this.#chosen = name;
    for (const button of this.all('button')) {
      button.setAttribute('aria-pressed', String(this.classOf(button) === name));
    }
    this.changed();
    if (this.shown.settings.submit_at_once) document.getElementById('submit')?.click();
  }
}

customElements.define('sfumato-choice', Choice);
