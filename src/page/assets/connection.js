// Connection to the server: loads all rows once, then follows the changes while the page is visible.

import {clockTime, now, setServerTime} from './format.js';

const KEY = 'nodepool-token';
const MIN_BACKOFF = 1000, MAX_BACKOFF = 15000;  // ms
const HIDDEN_DELAY = 30000;  // ms until a hidden page disconnects
const SILENCE_TIMEOUT = 40000;  // ms: the server sends something every 15 s

export class Unauthorized extends Error {}

export function token() { return sessionStorage.getItem(KEY); }
export function setToken(text) { text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY); }

// An error response.
class Refused extends Error {}

async function problemOf(response) {
  const {detail, message} = await response.json().catch(() => null) ?? {};
  return detail ?? message?.split('<br')[0] ?? `The server returned status ${response.status}.`;  // of the API, of pages
}

function headers() {
  return {Accept: 'application/json', ...(token() ? {Authorization: `Bearer ${token()}`} : {})};
}

// Throws Unauthorized if the server requires a token, or another one.
export async function get(path, options = {}) {
  const response = await fetch(path, {headers: headers(), cache: 'no-store', ...options});
  if (response.status === 401 || (response.status === 403 && token())) throw new Unauthorized(await problemOf(response));
  return response;
}

// The parts of its text as they arrive.
async function* partsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    yield value;
  }
}

// Returns null if there is no such thing, or the client may not read it. Throws an error if the server cannot tell now.
export async function getJson(path) {
  const response = await get(path);
  if (response.status >= 500 || response.status === 429) throw new Refused(await problemOf(response));
  return response.ok ? response.json() : null;
}

// A call that changes something. Throws an error with the server's reason if it is refused, and TypeError if there is no
// response.
export async function send(method, path, body) {
  const response = await fetch(path, {method, headers: headers(), body: body && JSON.stringify(body)});
  if (!response.ok) throw new Error(await problemOf(response));
}

// Browsers limit the connections to one server. A hidden tab disconnects after HIDDEN_DELAY, a page that is left at
// once: the browser may keep it in its back/forward cache.
class Visibility {
  constructor() {
    this.isVisible = true;
    this.onHidden = () => {};
    this.waiting = [];
    document.addEventListener('visibilitychange', () => (document.hidden ? this.hideLater() : this.show()));
    window.addEventListener('pagehide', () => this.hide());
    window.addEventListener('pageshow', () => this.show());
  }

  hideLater() { this.timer = setTimeout(() => this.hide(), HIDDEN_DELAY); }

  hide() {
    this.isVisible = false;
    this.onHidden();
  }

  show() {
    clearTimeout(this.timer);
    this.isVisible = true;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  async wait() { if (!this.isVisible) await new Promise((resolve) => this.waiting.push(resolve)); }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Connection {
  // `showState(state, text)` with state "live", "lost" or "" shows the state of the connection. `changed()` is called
  // after changes of the records. `askToken(problem)` returns when the user has entered a token.
  constructor(records, {showState, changed, askToken}) {
    Object.assign(this, {records, showState, changed, askToken, visibility: new Visibility()});
    this.staleness = this.failure = null;  // why the records are out of date, and why they cannot be shown
    this.currentAt = null;  // when the server last sent something, and the records were up to date
  }

  async run() {
    for (let wait = MIN_BACKOFF; ;) {
      try {
        await this.visibility.wait();
        if (this.records.revision === null) await this.load();
        await this.follow();
        wait = MIN_BACKOFF;
        continue;
      } catch (error) {
        if (error instanceof Unauthorized) {
          this.showLost('A token is required');
          await this.askToken(error.message);
          continue;
        }
        if (!this.visibility.isVisible) continue;
        this.showLost(error instanceof Refused ? error.message : 'No response, retrying');
      }
      await pause(wait);
      wait = Math.min(wait * 2, MAX_BACKOFF);
    }
  }

  // Calls `take(part)` with the parts of a response as they arrive, until it returns true. Aborts it when the server is
  // silent for too long, or the page is hidden. `begin()` is called with the response's head.
  async read(path, take, begin = () => {}) {
    const abort = new AbortController();
    this.visibility.onHidden = () => {
      this.showState('', 'Paused while hidden');
      abort.abort();
    };
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE_TIMEOUT);
    };
    try {
      wait();
      const response = await get(path, {signal: abort.signal});
      if (!response.ok) throw new Refused(await problemOf(response));
      begin();
      for await (const part of partsOf(response)) {
        wait();
        if (take(part)) return;
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  async load() {
    let text = '';
    await this.read('page/rows', (part) => { text += part; });
    this.records.replace(JSON.parse(text));
    this.show();
  }

  // Applies changes until the server ends the stream, which it does regularly, or all rows have to be loaded again.
  async follow() {
    let text = '';
    const take = (part) => {
      text += part;
      const events = text.split('\n\n');
      text = events.pop();
      return !this.apply(events);
    };
    await this.read(`page/changes?after=${this.records.revision}`, take, () => {
      this.staleness = null;
      this.showConnected();
    });
  }

  // An error in here is not one of the connection.
  show() {
    this.failure = null;
    try {
      this.changed();
    } catch (error) {
      console.error(error);
      this.failure = `Error of this page: ${error.message}`;
    }
  }

  showLost(problem) {
    this.showState('lost', this.currentAt === null ? problem : `${problem}; as of ${clockTime(this.currentAt).textContent}`);
  }

  showConnected() {
    const problem = this.staleness ?? this.failure;
    this.showState(problem ? 'lost' : 'live', problem ?? 'Live');
  }

  // Returns false if all rows have to be loaded again.
  apply(events) {
    let isChanged = false;
    for (const event of events) {
      const [, name, data] = /^event: (\S+)\ndata: (.*)$/s.exec(event) ?? [];
      if (name === 'hello') setServerTime(JSON.parse(data).now);
      if (name === 'stale') this.staleness = JSON.parse(data).reason;
      if (name === 'current') this.staleness = null;
      if (name === 'behind') {
        this.records.revision = null;
        return false;
      }
      if (name === 'changes') {
        this.records.change(JSON.parse(data));
        isChanged = true;
      }
    }
    if (isChanged) this.show();
    if (!this.staleness) this.currentAt = now();
    this.showConnected();
    return true;
  }
}
