// How many calls of its cloud a provider makes, as far as this page has seen.

const SPAN = 60;  // seconds that are looked back
const LEAST = 5;  // before anything is said

export class Pace {
  constructor() { this.seen = new Map(); }

  note(records) {
    const time = Date.now() / 1000;
    for (const provider of records.all('provider')) {
      const calls = (provider.calls ?? []).reduce((sum, call) => sum + call.count, 0);
      const seen = this.seen.get(provider.id) ?? [];
      if (seen.at(-1)?.calls !== calls || seen.length === 0) seen.push({time, calls});
      while (seen.length > 1 && seen[1].time < time - SPAN) seen.shift();
      this.seen.set(provider.id, seen);
    }
  }

  // Calls a minute; undefined: not known yet.
  of(provider) {
    const seen = this.seen.get(provider) ?? [];
    const span = Date.now() / 1000 - (seen[0]?.time ?? Infinity);
    return span < LEAST ? undefined : (seen.at(-1).calls - seen[0].calls) / span * 60;
  }
}
