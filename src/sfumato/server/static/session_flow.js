/** Decides which page comes next, from the server's state and the answers in the outbox. */

import { Gone } from './api.js';
import { byId } from './dom.js';
import { uuid } from './identity.js';
import * as pages from './pages.js';
import { Pictures } from './pictures.js';
import { ParticipantState } from './participant_state.js';
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
 * @property {boolean} unsure whether there is a button "I am not sure" that opens the deeper form
 * @property {boolean} [keeps_cookies] in a study on a platform, whether the browser sent the cookie of the entry
 * @property {import('./api.js').Back} [declined] the redirect for people who do not consent
 */

const POLL_MS = 10_000;
const POLL_SENDING_MS = 4000;
const DONE = new Set(['finished', 'excluded', 'full', 'refused', 'withdrawn']);
const ENDED = new Set(['finished', 'excluded', 'full', 'refused', 'withdrawn', 'ended']);
const WAITING = ['checking', 'empty', 'paused', 'waiting'];

export class SessionFlow {
  /** The trial shown. @type {TrialView|null} */
  view = null;

  #config;
  #api;
  #outbox;
  #frame;
  #storage;
  #shortcuts;
  #participant;
  #pictures = new Pictures();
  #restedAt = 0;
  #practiceDone = false;
  /** The practice trial answered last; the server may report whether it passed. @type {TrialView|null} */
  #practiceView = null;
  /** An answer is being added to the outbox: the next page is not known yet. */
  #submitting = false;
  /** @type {Promise<void>|null} */
  #request = null;
  #poll = 0;

  /** @param {Config} config
   * @param {import('./api.js').Api} api
   * @param {import('./outbox.js').Outbox} outbox
   * @param {import('./page_frame.js').PageFrame} frame
   * @param {import('./local_storage.js').LocalStorage} storage
   * @param {() => boolean} shortcuts whether they are on */
  constructor(config, api, outbox, frame, storage, shortcuts) {
    this.#config = config;
    this.#api = api;
    this.#outbox = outbox;
    this.#frame = frame;
    this.#storage = storage;
    this.#shortcuts = shortcuts;
    this.#participant = new ParticipantState(outbox);
    outbox.addEventListener('change', () => this.#saved());
    for (const type of ['other-tab', 'unknown']) outbox.addEventListener(type, () => this.refresh());
    outbox.addEventListener('stored', (event) => this.#stored(/** @type {CustomEvent} */ (event).detail));
    outbox.addEventListener('not-counted', (event) => this.#notCounted(/** @type {CustomEvent} */ (event).detail));
    outbox.addEventListener('refused', (event) => this.#refused(/** @type {CustomEvent} */ (event).detail));
  }

  /** Gets the state from the server and shows its page; concurrent calls share one request. */
  refresh() {
    this.#request ??= this.#callApi('state').finally(() => (this.#request = null));
    return this.#request;
  }

  /** Stops taking part for good, after the answers that wait: later the server takes none. */
  async withdraw() {
    await this.#outbox.sent();
    return this.#callApi('withdraw');
  }

  /** Tells the server that the participant is active; a heartbeat that fails is not repeated. */
  async sendHeartbeat() {
    if (!this.#participant.state || ENDED.has(this.#participant.state.stage)) return;
    const stamp = this.#api.stamp();
    const reply = await this.#api.post('pulse', '{}').catch(() => null);
    if (reply?.data?.stage) this.#applyState(reply.data, stamp);
  }

  /** A call whose answer is a state. @param {string} path
   * @param {object} [body] */
  async #callApi(path, body) {
    try {
      const { state, stamp } = await this.#api.state(path, body);
      // Wrong answers are reported once, as the reply to the comprehension questions.
      this.#applyState(path === 'comprehension' ? state : { ...state, failed: undefined }, stamp);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      const name = error.message === 'link-ended' ? 'ended' : 'gone';
      this.#page(pages.plain(name), name);
    }
  }

  /** Applies a new state; the current trial stays unless its lease is lost. @param {import('./api.js').State} state
   * @param {number} stamp */
  #applyState(state, stamp) {
    const before = this.#participant.state?.stage;
    if (!this.#participant.take(state, stamp)) return;
    this.#pictures.prepare(state.trials ?? []);
    this.#saved();
    if (this.#submitting || this.#frame.page === 'feedback') return;
    const mine = this.view !== null && this.#participant.lists(this.view.handle);
    if (this.view && mine && !this.#participant.given(this.view.handle)) return;
    if (this.view && !mine && state.stage === 'trials') {
      this.#frame.notice(say('trial.gone'));
    }
    // A page that waits for the participant (rest, consent, ...) stays while its stage is unchanged.
    const waits = !this.view && !['', 'waiting', 'connecting', 'trial', 'gone'].includes(this.#frame.page);
    if (waits && before === state.stage && !state.failed) return this.#keepPolling();
    this.next();
  }

  /** Shows the next page. */
  next() {
    const { state } = this.#participant;
    if (!state) return undefined;
    if (state.failed && ['comprehension', 'instructions'].includes(state.stage)) {
      const again = () => this.#instructions(state.stage === 'instructions');
      return this.#page(pages.wrong(state, again), 'wrong');
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
        return this.#noTrialPage(state);
    }
  }

  #consent() {
    const decline = () => this.#page(pages.declined(this.#config, () => this.#consent()), 'declined');
    this.#page(pages.consent(this.#config, () => this.#callApi('consent'), decline), 'consent');
  }

  /** @param {boolean} tell whether to report to the server that they were read */
  #instructions(tell) {
    const proceed = () => (tell ? this.#callApi('instructions') : this.#comprehension());
    this.#page(pages.instructions(this.#config, proceed), 'instructions');
  }

  #comprehension() {
    const check = (/** @type {string[]} */ answers) => this.#callApi('comprehension', { answers });
    this.#page(pages.comprehension(this.#config, check, (text) => this.#frame.announce(text)), 'comprehension');
  }

  /** The page of a stage without trials. @param {import('./api.js').State} state */
  #noTrialPage(state) {
    const { stage } = state;
    if (ENDED.has(stage) && stage !== 'withdrawn' && this.#outbox.waiting.length) return this.#waitingPage();
    if (stage === 'finished') this.#page(pages.finished(state, this.#config), stage);
    else if (stage === 'excluded' || stage === 'full') this.#page(pages.sentBack(stage, state), stage);
    else if (ENDED.has(stage) || WAITING.includes(stage)) this.#page(pages.plain(stage), stage);
    else this.#waitingPage();
    if (DONE.has(stage) && !this.#outbox.waiting.length) this.#clearBrowser();
    this.#keepPolling();
  }

  /** The participant is done and every answer is sent: nothing of them stays in this browser. */
  #clearBrowser() {
    this.#storage.clear();
    this.#outbox.removeRefused();
  }

  #nextTrial() {
    const { trial, done, betweenBatches } = this.#participant;
    if (!trial) return this.#waitingPage();
    if (!trial.practice && this.#practiceDone) {
      const begin = () => {
        this.#practiceDone = false;
        this.next();
      };
      return this.#page(pages.plain('practised', begin), 'practised');
    }
    if (!trial.practice && betweenBatches && this.#restedAt !== done) {
      const proceed = () => {
        this.#restedAt = done;
        this.next();
      };
      return this.#page(pages.rest(done, this.#participant.state?.wanted ?? 0, proceed), 'rest');
    }
    return this.#show(trial, done);
  }

  /** @param {import('./api.js').Trial} trial
   * @param {number} done */
  #show(trial, done) {
    this.#leaveTrial();
    const resumed = this.#storage.get('shown') === trial.trial;
    this.#storage.set('shown', trial.trial);
    this.#frame.progress(trial.practice ? 0 : done + 1, this.#participant.state?.wanted ?? 0, trial.practice);
    this.#frame.tools({ help: true, stop: true });
    this.view = new TrialView(this.#config, trial, this.#pictures, this.#frame, {
      submit: (answer, record) => this.#submit(trial, answer, record),
      skip: () => {
        this.#participant.postpone(trial.trial);
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
    this.#participant.answer(trial.trial);
    this.#frame.notice('');
    this.#submitting = true;
    this.#practiceView = trial.practice ? view : null;
    await this.#outbox.add(key, trial.trial, trial.practice, JSON.stringify({ key, trial: trial.trial, answer, record }));
    this.#submitting = false;
    if (trial.practice) this.#practiceDone = true;
    if (!trial.practice || !(trial.feedback || trial.judged) || !view) return this.next();
    this.view = null;
    byId('page').dataset.page = 'feedback';
    return view.feedback(() => {
      byId('page').dataset.page = '';
      this.next();
    });
  }

  /** Shown until the server is reached and has a trial. */
  #waitingPage() {
    if (this.#frame.page !== 'waiting' || this.view) this.#page(pages.plain('waiting'), 'waiting');
    this.#keepPolling();
  }

  #keepPolling() {
    clearTimeout(this.#poll);
    const { page } = this.#frame;
    if (!WAITING.includes(page)) return;
    const ms = page === 'waiting' || page === 'checking' ? POLL_SENDING_MS : POLL_MS;
    this.#poll = setTimeout(() => {
      if (this.#outbox.waiting.length) this.#keepPolling();
      else this.#callApi('trials');
    }, ms);
  }

  /** @param {DocumentFragment} fragment
   * @param {string} name */
  #page(fragment, name) {
    this.#leaveTrial();
    const ended = [...ENDED, 'gone', 'declined'].includes(name);
    this.#frame.progress(0, 0, false);
    this.#frame.tools({ help: !ended && name !== 'consent', stop: !ended && name !== 'consent' });
    this.#frame.show(fragment, name);
  }

  #leaveTrial() {
    clearTimeout(this.#poll);
    this.view?.leave();
    this.view = null;
  }

  #saved() {
    this.#frame.saved(this.#outbox, this.#participant.begun);
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any, stamp: number}} detail */
  #stored({ entry, data, stamp }) {
    if (data.passed !== undefined && this.#practiceView?.handle === entry.trial) this.#practiceView.judge(data.passed);
    if (data.state?.stage) this.#applyState(data.state, stamp);
    else this.refresh();
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any, stamp: number}} detail */
  #notCounted(detail) {
    this.#frame.notice(say('trial.not_counted'));
    this.#stored(detail);
  }

  /** @param {{entry: import('./outbox.js').Entry, data: any}} detail */
  #refused({ entry, data }) {
    this.#frame.notice(say('trial.not_taken', { code: data.code }));
    // A refused trial is shown again; after a second refusal it moves to the end.
    if (this.#storage.get(`refused:${entry.trial}`)) this.#participant.postpone(entry.trial);
    this.#storage.set(`refused:${entry.trial}`, 'once');
    this.#participant.reopen(entry.trial);
    this.refresh();
  }
}
