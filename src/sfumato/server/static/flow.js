/** Flow: which page comes next, from what the server says and from what waits in the outbox. */

import { Gone } from './api.js';
import { byId } from './dom.js';
import { uuid } from './identity.js';
import * as pages from './pages.js';
import { Pictures } from './pictures.js';
import { Standing } from './standing.js';
import { say } from './texts.js';
import { TrialView } from './trial.js';

/**
 * @typedef {object} Config what the server wrote into the page
 * @property {string} base
 * @property {{title: string, consent_html: string, instructions_html: string, pay: string|null, bonus: string|null,
 *   size: number, upscale: string, comprehension: {question: string, choices: string[]}[]}} study
 * @property {{kind: string, version: number, settings: Record<string, any>, prompt: string,
 *   framing: 'own'|'others'}[]} questions
 * @property {import('./form.js').StudyClass[]} classes
 * @property {'class'|'position'} keys_by
 * @property {boolean} unsure whether who is not sure may say so, and gets the deeper form
 * @property {import('./api.js').Back} [declined] the way back for who does not consent
 */

const POLL_MS = 10_000;
const POLL_SENDING_MS = 4000;
const ENDED = new Set(['finished', 'excluded', 'withdrawn', 'ended']);

export class Flow {
  /** The trial shown. @type {TrialView|null} */
  view = null;

  #config;
  #api;
  #outbox;
  #frame;
  #memory;
  #shortcuts;
  #standing;
  #pictures = new Pictures();
  #restedAt = 0;
  #practised = false;
  /** The practice trial answered last: the server may say how the answer was. @type {TrialView|null} */
  #taught = null;
  /** An answer is being put into the outbox: what comes next is not yet known. */
  #submitting = false;
  /** @type {Promise<void>|null} */
  #asking = null;
  #poll = 0;

  /** @param {Config} config
   * @param {import('./api.js').Api} api
   * @param {import('./outbox.js').Outbox} outbox
   * @param {import('./frame.js').Frame} frame
   * @param {import('./memory.js').Memory} memory
   * @param {() => boolean} shortcuts whether they are on */
  constructor(config, api, outbox, frame, memory, shortcuts) {
    this.#config = config;
    this.#api = api;
    this.#outbox = outbox;
    this.#frame = frame;
    this.#memory = memory;
    this.#shortcuts = shortcuts;
    this.#standing = new Standing(outbox);
    outbox.addEventListener('change', () => this.#saved());
    for (const type of ['elsewhere', 'unknown']) outbox.addEventListener(type, () => this.refresh());
    outbox.addEventListener('stored', (event) => this.#heard(/** @type {CustomEvent} */ (event).detail));
    outbox.addEventListener('set-aside', (event) => this.#setAside(/** @type {CustomEvent} */ (event).detail));
    outbox.addEventListener('refused', (event) => this.#refused(/** @type {CustomEvent} */ (event).detail));
  }

  /** Asks the server where this person stands, and goes there; asked while it is being asked, waits for that. */
  refresh() {
    this.#asking ??= this.#ask('state').finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** Stops taking part for good. */
  withdraw() {
    return this.#ask('withdraw');
  }

  /** Tells the server that the person is there; a beat that does not arrive is not made up for. */
  async beat() {
    if (!this.#standing.state || ENDED.has(this.#standing.state.stage)) return;
    const stamp = this.#api.stamp();
    const reply = await this.#api.post('pulse', '{}').catch(() => null);
    if (reply?.data?.stage) this.#take(reply.data, stamp);
  }

  /** A call whose answer is a state. @param {string} path
   * @param {object} [body] */
  async #ask(path, body) {
    try {
      const { state, stamp } = await this.#api.state(path, body);
      // What was wrong is told once, as the answer to the questions.
      this.#take(path === 'comprehension' ? state : { ...state, wrong: undefined }, stamp);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      const name = error.message === 'link-ended' ? 'ended' : 'gone';
      this.#page(pages.plain(name), name);
    }
  }

  /** A new state: the trial shown stays unless it is no longer this person's. @param {import('./api.js').State} state
   * @param {number} stamp */
  #take(state, stamp) {
    const before = this.#standing.state?.stage;
    if (!this.#standing.take(state, stamp)) return;
    this.#pictures.prepare(state.trials ?? []);
    this.#saved();
    if (this.#submitting || this.#frame.page === 'feedback') return;
    const mine = this.view !== null && this.#standing.lists(this.view.handle);
    if (this.view && mine && !this.#standing.given(this.view.handle)) return;
    if (this.view && !mine && state.stage === 'trials') {
      this.#frame.notice(say('trial.gone'));
    }
    // A page that waits for the person (rest, consent, ...) stays while nothing changed for it.
    const waits = !this.view && !['', 'waiting', 'connecting', 'trial', 'gone'].includes(this.#frame.page);
    if (waits && before === state.stage && !state.wrong?.length) return this.#keepPolling();
    this.next();
  }

  /** Shows what comes next. */
  next() {
    const { state } = this.#standing;
    if (!state) return undefined;
    if (state.wrong?.length && ['comprehension', 'instructions'].includes(state.stage)) {
      const again = () => this.#instructions(state.stage === 'instructions');
      return this.#page(pages.wrong(this.#config, state, again), 'wrong');
    }
    switch (state.stage) {
      case 'consent':
        return this.#consent();
      case 'instructions':
        return this.#instructions(true);
      case 'comprehension':
        return this.#comprehension();
      case 'trials':
        return this.#nextTrial();
      default:
        return this.#outside(state);
    }
  }

  #consent() {
    const decline = () => this.#page(pages.declined(this.#config, () => this.#consent()), 'declined');
    this.#page(pages.consent(this.#config, () => this.#ask('consent'), decline), 'consent');
  }

  /** @param {boolean} tell whether the server waits to hear that they were read */
  #instructions(tell) {
    const goOn = () => (tell ? this.#ask('instructions') : this.#comprehension());
    this.#page(pages.instructions(this.#config, goOn), 'instructions');
  }

  #comprehension() {
    const check = (/** @type {string[]} */ answers) => this.#ask('comprehension', { answers });
    this.#page(pages.comprehension(this.#config, check, (text) => this.#frame.announce(text)), 'comprehension');
  }

  /** The stages in which there is nothing to answer. @param {import('./api.js').State} state */
  #outside(state) {
    const { stage } = state;
    if (ENDED.has(stage) && stage !== 'withdrawn' && this.#outbox.waiting.length) return this.#waiting();
    if (stage === 'finished') this.#page(pages.finished(state, this.#config), stage);
    else if (stage === 'excluded') this.#page(pages.excluded(state), stage);
    else if (['withdrawn', 'ended', 'paused', 'empty'].includes(stage)) this.#page(pages.plain(stage), stage);
    else this.#waiting();
    this.#keepPolling();
  }

  #nextTrial() {
    const { trial, done, betweenBatches } = this.#standing;
    if (!trial) return this.#waiting();
    if (!trial.practice && this.#practised) {
      const begin = () => {
        this.#practised = false;
        this.next();
      };
      return this.#page(pages.plain('practised', begin), 'practised');
    }
    if (!trial.practice && betweenBatches && this.#restedAt !== done) {
      const goOn = () => {
        this.#restedAt = done;
        this.next();
      };
      return this.#page(pages.rest(done, this.#standing.state?.wanted ?? 0, goOn), 'rest');
    }
    return this.#show(trial, done);
  }

  /** @param {import('./api.js').Trial} trial
   * @param {number} done */
  #show(trial, done) {
    this.#leave();
    const resumed = this.#memory.recall('shown') === trial.trial;
    this.#memory.keep('shown', trial.trial);
    this.#frame.progress(trial.practice ? 0 : done + 1, this.#standing.state?.wanted ?? 0, trial.practice);
    this.#frame.tools({ help: true, stop: true });
    this.view = new TrialView(this.#config, trial, this.#pictures, this.#frame, {
      submit: (answer, record) => this.#submit(trial, answer, record),
      skip: () => {
        this.#standing.postpone(trial.trial);
        this.next();
      },
      circumstances: () => ({ shortcuts: this.#shortcuts(), resumed }),
    });
    return this.view.show();
  }

  /** @param {import('./api.js').Trial} trial
   * @param {object} answer
   * @param {import('./recorder.js').AnswerRecord} record */
  async #submit(trial, answer, record) {
    const view = this.view;
    const key = uuid();
    this.#standing.answer(trial.trial);
    this.#frame.notice('');
    this.#submitting = true;
    this.#taught = trial.practice ? view : null;
    await this.#outbox.add(key, trial.trial, trial.practice, JSON.stringify({ key, trial: trial.trial, answer, record }));
    this.#submitting = false;
    if (trial.practice) this.#practised = true;
    if (!trial.practice || !(trial.feedback || trial.judged) || !view) return this.next();
    this.view = null;
    byId('page').dataset.page = 'feedback';
    return view.feedback(() => {
      byId('page').dataset.page = '';
      this.next();
    });
  }

  /** Nothing to show until the server is reached, or has something for us. */
  #waiting() {
    if (this.#frame.page !== 'waiting' || this.view) this.#page(pages.plain('waiting'), 'waiting');
    this.#keepPolling();
  }

  #keepPolling() {
    clearTimeout(this.#poll);
    const { page } = this.#frame;
    if (!['waiting', 'empty', 'paused'].includes(page)) return;
    const ms = page === 'waiting' ? POLL_SENDING_MS : POLL_MS;
    this.#poll = setTimeout(() => {
      if (this.#outbox.waiting.length) this.#keepPolling();
      else this.#ask('trials');
    }, ms);
  }

  /** @param {DocumentFragment} fragment
   * @param {string} name */
  #page(fragment, name) {
    this.#leave();
    const ended = [...ENDED, 'gone', 'declined'].includes(name);
    this.#frame.progress(0, 0, false);
    this.#frame.tools({ help: !ended && name !== 'consent', stop: !ended && name !== 'consent' });
    this.#frame.show(fragment, name);
  }

  #leave() {
    clearTimeout(this.#poll);
    this.view?.leave();
    this.view = null;
  }

  #saved() {
    this.#frame.saved(this.#outbox, this.#standing.begun);
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any, stamp: number}} detail */
  #heard({ entry, data, stamp }) {
    if (data.passed !== undefined && this.#taught?.handle === entry.trial) this.#taught.judge(data.passed);
    if (data.state?.stage) this.#take(data.state, stamp);
    else this.refresh();
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any, stamp: number}} detail */
  #setAside(detail) {
    this.#frame.notice(say('trial.not_counted'));
    this.#heard(detail);
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any}} detail */
  #refused({ entry, data }) {
    this.#frame.notice(say('trial.not_taken', { code: data.code }));
    // Asked again once; a trial refused every time must not hold up the rest.
    if (this.#memory.recall(`refused:${entry.trial}`)) this.#standing.postpone(entry.trial);
    this.#memory.keep(`refused:${entry.trial}`, 'once');
    this.#standing.reopen(entry.trial);
    this.refresh();
  }
}
