// Columns and filters of the lists.

import {age, badge, byState, count, duration, h, link, now, several, stateBar} from './format.js';
import {peak, sparkline} from './chart.js';
import {isOfStaticHost, whyOf} from './records.js';

const SECTIONS = {request: 'requests', node: 'nodes', image: 'images', provider: 'providers', host: 'hosts',
                  component: 'daemons'};
export const sectionOf = (subject) => SECTIONS[subject];

const holderOf = (node) => node.lease?.holder ?? node.requestor?.replace(/^nodepool-api:/, '') ?? '';
const poolOf = (node) => [node.provider, node.pool].filter(Boolean).join(' / ');

// The duration of a launch, so far if it is in progress.
function bootTime(node) {
  if (isOfStaticHost(node) || !node.created) return undefined;
  if (node.state === 'ready') return node.since - node.created;
  return node.state === 'building' ? now() - node.created : undefined;
}

function statesOf(rows) {
  return byState(new Map(rows.map((row) => [row.state, 0]))).map(([state]) => state);
}

const distinct = (values) => [...new Set(values.filter(Boolean))].sort();

const requests = {
  title: 'Requests',
  words: ['request', 'requests'],
  empty: 'No requests. Zuul makes them, clients of the API, and: nodepool request LABEL',
  rows: (records) => records.all('request'),
  sort: 'position',
  columns: (records) => [
    {key: 'id', title: 'Request', width: '134px', narrow: 'a', class: 'mono', sort: (row) => row.id, cell: (row) => link('requests', row.id)},
    {key: 'state', title: 'State', width: '116px', narrow: 'b', sort: (row) => row.state, cell: (row) => badge(row.state)},
    {key: 'position', title: 'Position', width: '100px', class: 'right', sort: (row) => records.queue.get(row.id),
     cell: (row) => String(records.queue.get(row.id) ?? '')},
    {key: 'labels', title: 'Labels', width: '17%', narrow: 'c', sort: (row) => several(row.labels), cell: (row) => several(row.labels)},
    {key: 'asked', title: 'Age', width: '116px', narrow: 'd', class: 'right', sort: (row) => -(row.created ?? row.since),
     cell: (row) => age(row.created ?? row.since)},
    {key: 'requestor', title: 'Holder', width: '11%', class: 'extra', sort: (row) => row.order?.holder ?? row.requestor,
     cell: (row) => row.order?.holder ?? row.requestor ?? ''},
    {key: 'why', title: 'Reason', class: 'extra', sort: (row) => whyOf(row, records), cell: (row) => whyOf(row, records)},
  ],
  version: (records) => (row) => `${records.queue.get(row.id)} ${whyOf(row, records)}`,
  filters: (records) => ({
    state: {title: 'State', options: () => distinct(records.all('request').map((row) => row.state)), admits: (row, value) => row.state === value},
    label: {title: 'Label', options: () => distinct(records.all('request').flatMap((row) => row.labels ?? [])),
            admits: (row, value) => row.labels?.includes(value)},
  }),
  text: (row) => [row.id, row.state, several(row.labels), row.requestor, row.tenant, row.order?.holder, row.prefers, row.event],
};

const nodes = {
  title: 'Nodes',
  words: ['node', 'nodes'],
  empty: 'No nodes. They are launched for requests, and for labels with min-ready.',
  rows: (records) => records.all('node'),
  sort: 'id',
  columns: () => [
    {key: 'id', title: 'Node', width: '112px', narrow: 'a', class: 'mono', sort: (row) => row.id, cell: (row) => link('nodes', row.id)},
    {key: 'state', title: 'State', width: '104px', narrow: 'b', sort: (row) => row.state, cell: (row) => badge(row.state)},
    {key: 'since', title: 'For', width: '116px', class: 'right', narrow: 'd', sort: (row) => -row.since, cell: (row) => age(row.since)},
    {key: 'labels', title: 'Label', width: '17%', narrow: 'c', sort: (row) => several(row.labels), cell: (row) => several(row.labels)},
    {key: 'provider', title: 'Provider / pool', width: '17%', sort: poolOf, cell: poolOf},
    {key: 'boot', title: 'Boot', width: '116px', class: 'right extra', sort: bootTime, cell: bootCell},
    {key: 'holder', title: 'Holder', width: '15%', class: 'extra', sort: holderOf, cell: holderOf},
    {key: 'host', title: 'Host', class: 'extra', sort: (row) => row.comment ?? row.host, cell: (row) => row.comment ?? row.host ?? ''},
  ],
  filters: (records) => ({
    state: {title: 'State', options: () => statesOf(records.all('node')), admits: (row, value) => row.state === value},
    provider: {title: 'Provider', options: () => distinct(records.all('node').map((row) => row.provider)), admits: (row, value) => row.provider === value},
    label: {title: 'Label', options: () => distinct(records.all('node').flatMap((row) => row.labels ?? [])),
            admits: (row, value) => row.labels?.includes(value)},
  }),
  text: (row) => [row.id, row.state, several(row.labels), row.provider, row.pool, row.host, row.request, row.requestor, row.tenant,
                  row.lease?.holder, row.comment, row.az, row.hold_job, typeof row.machine === 'string' ? row.machine : ''],
};

function bootCell(node) {
  const seconds = bootTime(node);
  if (seconds === undefined) return '';
  return node.state === 'building' ? age(node.created) : duration(seconds);
}

const labels = {
  title: 'Labels',
  words: ['label', 'labels'],
  empty: 'No labels. Labels of the configuration are listed as soon as a pool offers them.',
  rows: (records) => [...records.labels.values()],
  sort: 'id',
  columns: (records, trends) => [
    {key: 'id', title: 'Label', width: '24%', narrow: 'a', sort: (row) => row.id, cell: (row) => link('labels', row.id)},
    {key: 'pools', title: 'Pools', width: '80px', class: 'right', sort: (row) => row.pools.length, cell: (row) => String(row.pools.length)},
    {key: 'ready', title: 'Free', width: '96px', class: 'right', narrow: 'b', sort: (row) => row.ready, cell: (row) => `${row.ready} free`},
    {key: 'nodes', title: 'Nodes', width: '80px', class: 'right', sort: (row) => row.nodes, cell: (row) => String(row.nodes)},
    {key: 'states', title: 'States', narrow: 'c', sort: (row) => row.states.get('in-use') ?? 0,
     cell: (row) => (row.nodes ? stateBar(row.states, {legend: false, most: mostOf(records)}) : h('span', {class: 'muted'}, 'no nodes'))},
    {key: 'trend', title: 'Last hours', width: '150px', class: 'extra', cell: (row) => sparkline(trends.get('label'), row.id),
     sort: (row) => peak(trends.get('label'), row.id)},
    {key: 'waiting', title: 'Requests waiting', width: '164px', class: 'right', narrow: 'd', sort: (row) => row.waiting,
     cell: (row) => (row.waiting ? `${row.waiting} waiting` : '')},
    {key: 'oldest', title: 'Longest wait', width: '136px', class: 'right extra', sort: (row) => (row.oldest ? -row.oldest : undefined),
     cell: (row) => (row.oldest ? age(row.oldest) : '')},
  ],
  version: (records, trends) => () => `${trends.get('label')?.begin} ${mostOf(records)}`,
  filters: (records) => ({
    provider: {title: 'Provider', options: () => distinct(records.pools.map((pool) => pool.provider)),
               admits: (row, value) => row.pools.some((pool) => pool.provider === value)},
  }),
  text: (row) => [row.id, ...row.pools.map((pool) => pool.provider)],
};

// The highest number of nodes of a label.
const mostOf = (records) => records.derive('mostNodesOfLabel', () => Math.max(1, ...[...records.labels.values()].map((row) => row.nodes)));

const images = {
  title: 'Images',
  words: ['image', 'images'],
  empty: 'No images. Add them to diskimages in the configuration, and start a builder.',
  rows: (records) => [...records.images.values()],
  sort: 'id',
  columns: () => [
    {key: 'id', title: 'Image', width: '22%', narrow: 'a', sort: (row) => row.id, cell: (row) => link('images', row.id)},
    {key: 'state', title: 'Newest build', width: '130px', narrow: 'b', sort: (row) => row.builds?.[0]?.state,
     cell: (row) => (row.builds?.length ? badge(row.builds[0].state) : h('span', {class: 'muted'}, 'never built'))},
    {key: 'age', title: 'Age', width: '110px', class: 'right', narrow: 'd', sort: (row) => -(row.builds?.[0]?.since ?? 0),
     cell: (row) => (row.builds?.length ? age(row.builds[0].since) : '')},
    {key: 'builder', title: 'Builder', width: '16%', class: 'extra', sort: (row) => row.builds?.[0]?.builder, cell: (row) => row.builds?.[0]?.builder ?? ''},
    {key: 'uploads', title: 'Uploads', narrow: 'c', sort: uploadsText, cell: uploadsText},
    {key: 'note', title: 'Note', width: '22%', class: 'extra', sort: imageNote, cell: imageNote},
  ],
  filters: () => ({}),
  text: (row) => [row.id, ...(row.builds ?? []).flatMap((build) => [build.id, build.state, build.builder, build.failure])],
};

function uploadsText(image) {
  const counts = new Map();
  for (const build of image.builds ?? []) {
    for (const upload of build.uploads ?? []) counts.set(upload.state, (counts.get(upload.state) ?? 0) + 1);
  }
  return [...counts].map(([state, number]) => `${number} ${state}`).join(', ');
}

function imageNote(image) {
  const failed = image.builds?.find((build) => build.state === 'failed');
  if (image.configured?.paused) return 'paused by the configuration';
  if (image.paused) return 'paused';
  if (image.wanted) return 'build requested';
  return failed ? `failed: ${failed.failure ?? 'no reason recorded'}` : '';
}

const hosts = {
  title: 'Static hosts',
  words: ['host', 'hosts'],
  empty: 'No static hosts. A provider with the driver static lists them.',
  rows: (records) => [...records.hosts.values()],
  sort: 'problem',
  columns: () => [
    {key: 'host', title: 'Host', width: '24%', narrow: 'a', sort: (row) => row.host, cell: (row) => link('hosts', row.id, row.host)},
    {key: 'health', title: 'Health', width: '118px', narrow: 'b', sort: (row) => (row.problems.length ? 0 : 1),
     cell: (row) => (row.problems.length ? h('span', {class: 'badge square shade-bad'}, 'unhealthy') : h('span', {class: 'badge shade-good'}, 'healthy'))},
    {key: 'provider', title: 'Provider / pool', width: '18%', sort: poolOf, cell: poolOf},
    {key: 'nodes', title: 'Nodes', width: '17%', narrow: 'd', sort: (row) => row.nodes.length, cell: (row) => nodeCounts(row.nodes)},
    {key: 'problem', title: 'Problem', narrow: 'c', sort: (row) => row.problems[0]?.problem, cell: (row) => row.problems[0]?.problem ?? ''},
    {key: 'since', title: 'Since', width: '110px', class: 'right extra', sort: (row) => row.problems[0]?.since,
     cell: (row) => (row.problems.length ? age(row.problems[0].since) : '')},
  ],
  filters: (records) => ({
    provider: {title: 'Provider', options: () => distinct([...records.hosts.values()].map((row) => row.provider)),
               admits: (row, value) => row.provider === value},
  }),
  text: (row) => [row.host, row.provider, row.pool, ...row.problems.map((report) => report.problem)],
};

function nodeCounts(list) {
  const counts = new Map();
  for (const node of list) counts.set(node.state, (counts.get(node.state) ?? 0) + 1);
  return byState(counts).map(([state, number]) => `${number} ${state}`).join(', ');
}

const failures = {
  title: 'Recent failures',
  words: ['failure', 'failures'],
  empty: 'No failures in the history of this launcher\'s host.',
  rows: (records) => records.failures,
  sort: '-time',
  columns: (records) => [
    {key: 'of', title: 'Subject', width: '146px', narrow: 'a', class: 'mono', sort: (row) => row.of, cell: (row) => link('failures', row.id, row.of)},
    {key: 'time', title: 'When', width: '112px', class: 'right', narrow: 'b', sort: (row) => row.time, cell: (row) => age(row.time)},
    {key: 'event', title: 'Event', width: '18%', sort: (row) => row.event, cell: (row) => `${row.subject} ${row.event}`},
    {key: 'details', title: 'Reason', narrow: 'c', sort: (row) => row.details, cell: (row) => reasonOf(row, records)},
  ],
  filters: (records) => ({
    kind: {title: 'Kind', options: () => distinct(records.failures.map((row) => row.subject)), admits: (row, value) => row.subject === value},
  }),
  text: (row) => [row.of, row.event, row.details],
};

// The reason from the entry, or else from the record of the request.
export function reasonOf(row, records) {
  if (row.details) return row.details;
  const request = row.subject === 'request' && records.find('request', row.of);
  return request ? whyOf(request, records) : 'no reason recorded';
}

const daemons = {
  title: 'Launchers and builders',
  words: ['daemon', 'daemons'],
  empty: 'No launchers and builders are registered.',
  rows: (records) => records.all('component').filter((row) => row.kind !== 'pool'),
  sort: 'kind',
  columns: (records) => [
    {key: 'host', title: 'Host', width: '26%', narrow: 'a', sort: (row) => row.host, cell: (row) => link('daemons', row.id, row.host)},
    {key: 'kind', title: 'Kind', width: '110px', narrow: 'c', sort: (row) => row.kind, cell: (row) => row.kind},
    {key: 'state', title: 'State', width: '130px', narrow: 'b', sort: (row) => row.state, cell: (row) => badge(row.state)},
    {key: 'version', title: 'Version', width: '140px', narrow: 'd', class: 'extra', sort: (row) => row.version, cell: (row) => row.version ?? ''},
    {key: 'pools', title: 'Pools on this host', sort: (row) => poolsOn(row, records).length,
     cell: (row) => poolsOn(row, records).map((pool) => `${pool.provider}-${pool.name}${pool.paused ? ' (at capacity)' : ''}`).join(', ')},
  ],
  filters: (records) => ({
    kind: {title: 'Kind', options: () => distinct(records.all('component').map((row) => row.kind).filter((kind) => kind !== 'pool')),
           admits: (row, value) => row.kind === value},
  }),
  text: (row) => [row.host, row.kind, row.state, row.version],
};

export function poolsOn(daemon, records) {
  return daemon.kind === 'launcher' ? records.pools.filter((pool) => pool.host === daemon.host) : [];
}

export const LISTS = {requests, nodes, labels, images, hosts, failures, daemons};

// The rows that match the filter.
export function filtered(list, records, {q = '', ...choices}) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const filters = Object.entries(list.filters(records)).filter(([key]) => choices[key]);
  return list.rows(records).filter((row) => {
    if (!filters.every(([key, filter]) => filter.admits(row, choices[key]))) return false;
    if (words.length === 0) return true;
    const text = list.text(row).join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function matchCount(list, shown, all) {
  const [one, many] = list.words;
  return shown === all ? count(all, one, many) : `${shown.toLocaleString('en')} of ${count(all, one, many)}`;
}
