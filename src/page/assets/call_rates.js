// Rates of cloud API calls by provider, measured since the page was opened.

const WINDOW = 60;  // seconds
const MIN_WINDOW = 5;  // seconds before a rate is known

export class CallRates {
  constructor() { this.samples = new Map(); }

  sample(records) {
    const time = Date.now() / 1000;
    for (const provider of records.all('provider')) {
      const calls = (provider.calls ?? []).reduce((sum, call) => sum + call.count, 0);
      const samples = this.samples.get(provider.id) ?? [];
      if (samples.at(-1)?.calls !== calls || samples.length === 0) samples.push({time, calls});
      while (samples.length > 1 && samples[1].time < time - WINDOW) samples.shift();
      this.samples.set(provider.id, samples);
    }
  }

  // Calls a minute; undefined while unknown.
  of(provider) {
    const samples = this.samples.get(provider) ?? [];
    const span = Date.now() / 1000 - (samples[0]?.time ?? Infinity);
    return span < MIN_WINDOW ? undefined : (samples.at(-1).calls - samples[0].calls) / span * 60;
  }
}
