// The rows from the server, and values derived from them. Times are seconds since the epoch.

const KINDS = ['node', 'request', 'provider', 'component', 'image', 'host', 'failure', 'problem', 'configured_image', 'dashboard'];

export class Records {
  constructor() {
    this.kinds = new Map(KINDS.map((kind) => [kind, new Map()]));
    this.revision = null;
    this.derived = new Map();
  }

  // Replaces all rows.
  replace({revision, rows}) {
    for (const table of this.kinds.values()) table.clear();
    this.change({revision, set: rows, gone: {}});
  }

  change({revision, set, gone}) {
    for (const [kind, rows] of Object.entries(set)) {
      const table = this.kinds.get(kind);
      if (table) for (const row of rows) table.set(row.id, row);
    }
    for (const [kind, ids] of Object.entries(gone)) {
      for (const id of ids) this.kinds.get(kind)?.delete(id);
    }
    this.revision = revision;
    this.derived.clear();
  }

  all(kind) { return [...this.kinds.get(kind).values()]; }
  find(kind, id) { return this.kinds.get(kind).get(id); }
  count(kind) { return this.kinds.get(kind).size; }

  // A value that is computed from the rows once per revision.
  derive(name, compute) {
    if (!this.derived.has(name)) this.derived.set(name, compute());
    return this.derived.get(name);
  }

  get queue() { return this.derive('queue', () => queuePositions(this)); }
  // The first of all waiting requests with the same conditions: pools evaluate only that one.
  get leaders() { return this.derive('leaders', () => leadersOf(this)); }
  leaderOf(request) { return this.find('request', this.leaders.get(shapeOf(request)) ?? request.id) ?? request; }
  get pools() { return this.derive('pools', () => this.all('component').filter((row) => row.kind === 'pool')); }
  get poolNames() { return this.derive('poolNames', () => new Map(this.pools.map((pool) => [pool.component, pool]))); }
  get labels() { return this.derive('labels', () => labelsOf(this)); }
  get images() { return this.derive('images', () => imagesOf(this)); }
  get hosts() { return this.derive('hosts', () => hostsOf(this)); }
  get failures() { return this.derive('failures', () => failuresOf(this)); }
  get states() { return this.derive('states', () => countStates(this.all('node'))); }

  // "cloud-main" for the id of a pool, registered or not.
  poolName(id) {
    const pool = this.poolNames.get(id);
    if (pool) return `${pool.provider}-${pool.name}`;
    return id.replace(/-[0-9a-f]{32}$/, '').replace(/^.*PoolWorker\./, '');
  }
}

export function countStates(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.state, (counts.get(node.state) ?? 0) + 1);
  return counts;
}

// Requests are served by priority (the prefix of their ids), relative priority, and sequence.
function queuePositions(records) {
  const waiting = records.all('request').filter((request) => request.state === 'requested');
  const key = (request) => request.id.split('-');
  waiting.sort((a, b) => {
    const [priority, sequence] = key(a);
    const [otherPriority, otherSequence] = key(b);
    return priority.localeCompare(otherPriority) || (a.relative ?? 0) - (b.relative ?? 0)
      || sequence.localeCompare(otherSequence);
  });
  return new Map(waiting.map((request, index) => [request.id, index + 1]));
}

const shapeOf = (request) => JSON.stringify([[...(request.labels ?? [])].sort(), request.tenant, request.prefers,
                                             (request.declined ?? []).map((decline) => decline.pool).sort()]);

function leadersOf(records) {
  const leaders = new Map();
  for (const id of records.queue.keys()) {
    const shape = shapeOf(records.find('request', id));
    if (!leaders.has(shape)) leaders.set(shape, id);
  }
  return leaders;
}

function labelsOf(records) {
  const labels = new Map();
  const label = (name) => {
    if (!labels.has(name)) labels.set(name, {id: name, pools: [], states: new Map(), nodes: 0, ready: 0, waiting: 0, oldest: undefined});
    return labels.get(name);
  };
  for (const pool of records.pools) for (const name of pool.labels ?? []) label(name).pools.push(pool);
  for (const node of records.all('node')) {
    for (const name of node.labels ?? []) {
      const entry = label(name);
      entry.nodes += 1;
      entry.states.set(node.state, (entry.states.get(node.state) ?? 0) + 1);
      if (node.state === 'ready' && !node.request && !node.locked) entry.ready += 1;
    }
  }
  for (const request of records.all('request')) {
    if (request.state !== 'requested') continue;
    for (const name of new Set(request.labels)) {
      const entry = label(name);
      entry.waiting += 1;
      entry.oldest = Math.min(entry.oldest ?? Infinity, request.created ?? request.since);
    }
  }
  return labels;
}

// The images with records and those of the configuration, which may have none yet.
function imagesOf(records) {
  const images = new Map(records.all('image').map((row) => [row.id, {...row, configured: records.find('configured_image', row.id)}]));
  for (const configured of records.all('configured_image')) {
    if (!images.has(configured.id)) images.set(configured.id, {id: configured.id, configured});
  }
  return images;
}

// The id of a static node is the name of its host; slots of machines have another one.
export const isOfStaticHost = (node) => node.slot && (node.machine ?? node.host) === node.host;

// Static hosts: those with nodes and those that are unhealthy.
function hostsOf(records) {
  const hosts = new Map();
  const host = (provider, pool, name) => {
    const id = `${provider}/${name}`;
    if (!hosts.has(id)) hosts.set(id, {id, provider, pool, host: name, nodes: [], problems: []});
    return hosts.get(id);
  };
  for (const node of records.all('node')) {
    if (isOfStaticHost(node)) host(node.provider, node.pool, node.host ?? node.id).nodes.push(node);
  }
  for (const report of records.all('host')) host(report.provider, report.pool, report.host).problems.push(report);
  return hosts;
}

// Recent failures, including those of builds and uploads, newest first.
function failuresOf(records) {
  const failures = withReasons(records.all('failure'));
  for (const image of records.all('image')) {
    for (const build of image.builds ?? []) {
      const of = {subject: 'image', of: image.id};
      if (build.state === 'failed') {
        failures.push({...of, id: `build ${build.id}`, time: build.since, event: 'build failed', details: build.failure});
      }
      for (const upload of build.uploads ?? []) {
        if (upload.state !== 'failed') continue;
        failures.push({...of, id: `upload ${build.id} ${upload.provider} ${upload.id}`, time: upload.since,
                       event: `upload to ${upload.provider} failed`, details: upload.failure});
      }
    }
  }
  return failures.sort((a, b) => b.time - a.time);
}

// The failure of a launch and the decline that follows from it are one failure.
function withReasons(rows) {
  const declines = rows.filter((row) => row.event === 'declined');
  const used = new Set();
  const merged = rows.map((row) => {
    const decline = row.subject === 'node' && declines.find(({details}) => details?.includes(row.of));
    if (!decline) return row;
    used.add(decline);
    return {...row, details: row.details ?? decline.details};
  });
  return merged.filter((row) => !used.has(row));
}

// The reason for the state of a request, in one line.
export function whyOf(request, records) {
  if (request.state === 'failed') {
    const declines = (request.declined ?? []).filter((decline) => decline.reason);
    const best = declines.find((decline) => !/not available/.test(decline.reason)) ?? declines[0];
    return best ? `${records.poolName(best.pool)}: ${best.reason}` : 'declined by all pools';
  }
  if (request.state === 'fulfilled') return 'its nodes are ready';
  if (request.state === 'pending') {
    const nodes = (request.nodes ?? []).map((id) => records.find('node', id)).filter(Boolean);
    const ready = nodes.filter((node) => node.state === 'ready').length;
    return `launching: ${ready} of ${request.labels?.length ?? 0} nodes ready`;
  }
  const leader = records.leaderOf(request);
  const opinion = mainOpinion(leader);
  const after = leader === request ? '' : `after ${leader.id} (same conditions): `;
  if (opinion) return `${after}${records.poolName(opinion.pool)} ${opinion.text}`;
  const declined = request.declined?.length ?? 0;
  return declined > 0 ? `declined by ${declined} of ${records.pools.length} pools` : 'not evaluated by a pool of this launcher yet';
}

// The most relevant opinion: of a pool that waits and does not merely defer to another one.
export function mainOpinion(request) {
  const waits = (request.opinions ?? []).filter((opinion) => opinion.text.startsWith('waits'));
  return waits.find((opinion) => !opinion.reason?.startsWith('left-to') && !opinion.reason?.startsWith('prefers'))
    ?? waits[0] ?? request.opinions?.[0];
}
