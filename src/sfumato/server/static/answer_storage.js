/** Stores answers in IndexedDB until the server has them. Those that it refused stay until the participant is done. */

const ANSWER_MS = 3000;

export class AnswerStorage {
  /** @type {IDBDatabase} */
  #database;

  /** @param {IDBDatabase} database */
  constructor(database) {
    this.#database = database;
    database.onversionchange = () => database.close();
  }

  /** The storage of one participant, or null if the browser has none (blocked, private mode, broken profile).
   * @param {string} scope
   * @returns {Promise<AnswerStorage|null>} */
  static async open(scope) {
    try {
      const request = indexedDB.open(`sfumato-${scope}`, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore('queue', { keyPath: 'key' });
        request.result.createObjectStore('refused', { keyPath: 'key' });
      };
      return new AnswerStorage(await settled(request));
    } catch {
      return null;
    }
  }

  /** Every entry of the queue, oldest first.
   * @returns {Promise<import('./outbox.js').Entry[]>} */
  async entries() {
    const found = await settled(this.#store('queue', 'readonly').getAll());
    return found.sort((a, b) => a.order - b.order);
  }

  /** Whether the queue holds `key`.
   * @param {string} key
   * @returns {Promise<boolean>} */
  async has(key) {
    return (await settled(this.#store('queue', 'readonly').count(key))) > 0;
  }

  /** Resolves when the entry is written.
   * @param {import('./outbox.js').Entry} entry */
  async put(entry) {
    await written(this.#store('queue', 'readwrite').put(entry));
  }

  /** @param {string} key */
  async remove(key) {
    await written(this.#store('queue', 'readwrite').delete(key));
  }

  /** Moves an entry from the queue to those the server refused.
   * @param {import('./outbox.js').Entry} entry
   * @param {any} why the server's reply */
  async refuse(entry, why) {
    await written(this.#store('refused', 'readwrite').put({ ...entry, why }));
    await this.remove(entry.key);
  }

  /** Removes the answers that the server refused. */
  async removeRefused() {
    await written(this.#store('refused', 'readwrite').clear());
  }

  /** @param {'queue'|'refused'} name
   * @param {'readonly'|'readwrite'} mode */
  #store(name, mode) {
    return this.#database.transaction(name, mode, { durability: 'strict' }).objectStore(name);
  }
}

/** @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>} */
function settled(request) {
  return soon((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Resolves when the transaction of `request` is complete, not only the request.
 * @param {IDBRequest} request
 * @returns {Promise<void>} */
function written(request) {
  return soon((resolve, reject) => {
    const transaction = /** @type {IDBTransaction} */ (request.transaction);
    transaction.oncomplete = () => resolve(undefined);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
    // If the page is closed now, everything that is not committed is lost.
    transaction.commit?.();
  });
}

/** A promise that fails after a timeout: some browsers and disks never answer instead of reporting an error.
 * @template T
 * @param {(resolve: (value: T) => void, reject: (reason: unknown) => void) => void} begin
 * @returns {Promise<T>} */
function soon(begin) {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('no answer')), ANSWER_MS);
    begin(resolve, reject);
  });
}
