// What the server tells: all rows once, then what changes, for as long as the page is open.

import {setServerTime} from './format.js';

const KEY = 'nodepool-token';
const SHORTEST_PAUSE = 1000, LONGEST_PAUSE = 15000;  // ms, between attempts
const UNSEEN = 30000;  // ms
const SILENCE = 40000;  // ms: the server says something every 15 s

export class Refused extends Error {}

export function token() { return sessionStorage.getItem(KEY); }
export function setToken(text) { text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY); }

async function problemOf(response) {
  try {
    return (await response.json()).detail ?? `The server says ${response.status}.`;
  } catch {
    return `The server says ${response.status}.`;
  }
}

// Throws Refused if the server wants a token, or another one.
export async function get(path, options = {}) {
  const headers = {Accept: 'application/json'};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const response = await fetch(path, {headers, cache: 'no-store', ...options});
  if (response.status === 401 || (response.status === 403 && token())) throw new Refused(await problemOf(response));
  return response;
}

// The value, or null if there is none.
export async function getJson(path) {
  const response = await get(path);
  return response.ok ? response.json() : null;
}

// A browser has few connections to one server: a tab that nobody sees gives its own back after a while, and one that is
// left at once, for the browser may keep it to come back to.
class Attention {
  constructor() {
    this.isThere = true;
    this.lost = () => {};
    this.back = [];
    document.addEventListener('visibilitychange', () => (document.hidden ? this.leaveLater() : this.come()));
    window.addEventListener('pagehide', () => this.leave());
    window.addEventListener('pageshow', () => this.come());
  }

  leaveLater() { this.timer = setTimeout(() => this.leave(), UNSEEN); }

  leave() {
    this.isThere = false;
    this.lost();
  }

  come() {
    clearTimeout(this.timer);
    this.isThere = true;
    for (const resolve of this.back.splice(0)) resolve();
  }

  async wait() { if (!this.isThere) await new Promise((resolve) => this.back.push(resolve)); }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Connection {
  // `told(state, text)`: "live", "lost" or ""; `changed()` when the records have; `askToken(problem)` returns when
  // there is another token.
  constructor(records, {told, changed, askToken}) {
    Object.assign(this, {records, told, changed, askToken, attention: new Attention()});
  }

  async run() {
    for (let wait = SHORTEST_PAUSE; ;) {
      try {
        await this.attention.wait();
        if (this.records.revision === null) await this.load();
        if (await this.follow()) wait = SHORTEST_PAUSE;
        continue;
      } catch (error) {
        if (error instanceof Refused) {
          this.told('lost', 'A token is needed');
          await this.askToken(error.message);
          continue;
        }
        if (!this.attention.isThere) continue;
        this.told('lost', 'No answer, trying again');
      }
      await pause(wait);
      wait = Math.min(wait * 2, LONGEST_PAUSE);
    }
  }

  async load() {
    const response = await get('page/rows');
    if (!response.ok) throw new Error(await problemOf(response));
    this.records.replace(await response.json());
    this.changed();
  }

  // Takes changes until the server ends the stream, which it does now and then. Returns whether there were any.
  async follow() {
    const abort = new AbortController();
    this.attention.lost = () => {
      this.told('', 'Not followed while unseen');
      abort.abort();
    };
    const response = await get(`page/changes?after=${this.records.revision}`, {signal: abort.signal});
    if (!response.ok) throw new Error(await problemOf(response));
    this.told('live', 'Live');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE);
    };
    try {
      for (wait(); ; wait()) {
        const {value, done} = await reader.read();
        if (done) return true;
        text += value;
        const events = text.split('\n\n');
        text = events.pop();
        if (!this.take(events)) return true;
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  // Returns whether the stream leads on from what is there.
  take(events) {
    let isChanged = false;
    for (const event of events) {
      const [, name, data] = /^event: (\S+)\ndata: (.*)$/s.exec(event) ?? [];
      if (name === 'hello') setServerTime(JSON.parse(data).now);
      if (name === 'behind') {
        this.records.revision = null;
        return false;
      }
      if (name === 'changes') {
        this.records.change(JSON.parse(data));
        isChanged = true;
      }
    }
    if (isChanged) this.changed();
    return true;
  }
}
