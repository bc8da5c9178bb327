// Loads the last hours of requests and nodes, and keeps them until the server takes the next sample.

import {getJson} from './connection.js';
import {now} from './format.js';

const INTERVAL = 60000, MARGIN = 1000, RETRY = 10000;  // ms; of the server's samples, after a sample, after a failure
const MAX_ANSWERS = 12;

export class Trends {
  // `changed()` is called when an answer has arrived.
  constructor(changed) { Object.assign(this, {changed, answers: new Map()}); }

  // The trends of one subject, or of all labels or providers: {begin, first, steps, step, series, incomplete}, with
  // times in seconds, and the series by name. Undefined while unknown; older ones are returned while newer ones are loaded.
  get(of, name) {
    const query = name === undefined ? `of=${of}` : `of=${of}&name=${encodeURIComponent(name)}`;
    const answer = this.answers.get(query) ?? {due: 0};
    if (answer.due < Date.now()) {
      answer.due = Date.now() + INTERVAL;
      this.answers.delete(query);
      this.answers.set(query, answer);
      if (this.answers.size > MAX_ANSWERS) this.answers.delete(this.answers.keys().next().value);
      this.load(query, answer);
    }
    return answer.data;
  }

  async load(query, answer) {
    try {
      const data = await getJson(`page/trends?${query}`);
      if (data) {
        answer.data = {...data, series: new Map(data.series.map((series) => [series.name, series]))};
        const next = (data.begin + data.steps * data.step - now()) * 1000 + MARGIN;
        answer.due = Date.now() + Math.min(INTERVAL, Math.max(RETRY, next));
      } else {
        answer.due = Date.now() + RETRY;
      }
    } catch {
      answer.due = Date.now() + RETRY;
    }
    this.changed();
  }

  // A new token may read what the last one could not.
  reset() { this.answers.clear(); }
}
