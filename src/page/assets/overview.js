// The overview and the page of the providers.

import {age, badge, count, duration, h, link, meter, prose, stateBar} from './format.js';
import {trendCharts} from './chart.js';
import {countStates, whyOf} from './records.js';
import {LISTS, reasonOf, sectionOf} from './lists.js';

const MAX_ROWS = 8;  // of each list of the overview

const figure = (number, text, target, isBad = false) =>
  h('a', {class: `figure ${isBad ? 'bad' : ''}`, href: target}, h('b', {}, number.toLocaleString('en')), text);

export function overview(records, trends) {
  return h('div', {class: 'columns'}, nodesCard(records), trendCard(trends), h('div', {}, waitingCard(records), failuresCard(records)),
           h('div', {}, problemsCard(records), providersCard(records), daemonsCard(records)));
}

function nodesCard(records) {
  const counts = records.states;
  return h('section', {class: 'card wide', 'aria-label': 'Nodes'},
           h('header', {}, h('h2', {}, count(records.count('node'), 'node')), h('a', {href: '#/nodes'}, 'All nodes')),
           records.count('node') ? stateBar(counts, {target: (state) => `#/nodes?state=${encodeURIComponent(state)}`})
             : h('p', {class: 'muted'}, LISTS.nodes.empty));
}

function trendCard(trends) {
  return h('section', {class: 'card wide', 'aria-label': 'Last hours'}, h('header', {}, h('h2', {}, 'Last hours')), trendCharts(trends.get('all')));
}

function waitingCard(records) {
  const queue = [...records.queue.keys()].map((id) => records.find('request', id));
  const pending = records.all('request').filter((request) => request.state === 'pending').length;
  const oldest = Math.min(...queue.map((request) => request.created ?? request.since));
  return h('section', {class: 'card', 'aria-label': 'Requests'},
           h('header', {}, h('h2', {}, 'Requests'), h('a', {href: '#/requests'}, 'All requests')),
           h('div', {class: 'figures'},
             figure(queue.length, 'waiting', '#/requests?state=requested'),
             figure(pending, 'in progress', '#/requests?state=pending'),
             queue.length > 0 && h('div', {class: 'figure'}, h('b', {}, age(oldest)), 'longest wait')),
           queue.length > 0 && h('ol', {class: 'brief'}, queue.slice(0, MAX_ROWS).map((request) => h('li', {},
             link('requests', request.id, request.id, {class: 'mono'}),
             h('span', {class: 'why', title: whyOf(request, records)}, whyOf(request, records)), age(request.created ?? request.since)))));
}

// The problems of `nodepool status`, worst first.
export function problemsOf(records) {
  return records.all('problem').sort((a, b) => a.id - b.id);
}

function problemItem({level, kind, subject, text}) {
  const target = kind ? `#/${sectionOf(kind)}/${encodeURIComponent(subject)}` : '#/daemons';
  return h('li', {}, h('a', {href: target, class: `problem ${level === 'critical' ? 'bad' : ''}`, title: text}, prose(text)));
}

function problemsCard(records) {
  const list = problemsOf(records);
  return h('section', {class: 'card', 'aria-label': 'Needs attention'},
           h('header', {}, h('h2', {}, 'Needs attention')),
           list.length === 0 ? h('p', {class: 'muted'}, 'No problems.')
             : h('ul', {class: 'brief'}, list.slice(0, MAX_ROWS).map(problemItem)),
           list.length > MAX_ROWS && h('p', {class: 'muted'}, `and ${list.length - MAX_ROWS} more`));
}

function providersCard(records) {
  const byProvider = group(records.all('node'));
  const names = providerNames(records);
  const most = mostNodes(byProvider);
  return h('section', {class: 'card', 'aria-label': 'Providers'},
           h('header', {}, h('h2', {}, 'Providers'), h('a', {href: '#/providers'}, 'All providers')),
           names.length === 0 && noProviders(),
           h('ul', {class: 'lines'}, names.map((name) => {
             const nodes = byProvider.get(name) ?? [];
             return h('li', {class: 'lines'}, h('div', {}, link('providers', name), ' ', h('span', {class: 'muted'}, count(nodes.length, 'node'))),
                      nodes.length ? stateBar(countStates(nodes), {legend: false, most}) : null);
           })));
}

function daemonsCard(records) {
  const daemons = records.all('component').filter((row) => row.kind !== 'pool');
  return h('section', {class: 'card', 'aria-label': 'Launchers and builders'},
           h('header', {}, h('h2', {}, 'Launchers and builders'), h('a', {href: '#/daemons'}, 'All daemons')),
           daemons.length === 0 ? h('p', {class: 'muted'}, 'None registered.')
             : h('ul', {class: 'brief'}, daemons.slice(0, MAX_ROWS).map((row) => h('li', {}, link('daemons', row.id, row.host),
               h('span', {class: 'why'}, `${row.kind} ${row.version ?? ''}`), badge(row.state)))));
}

function providerNames(records) {
  return [...new Set([...records.all('provider').map((row) => row.id), ...records.pools.map((pool) => pool.provider)])].sort();
}

function noProviders() {
  return h('p', {class: 'muted'}, 'No providers. Add one to ', h('code', {}, 'providers'), ' in the configuration; the launcher reloads it.');
}

const mostNodes = (groups) => Math.max(1, ...[...groups.values()].map((nodes) => nodes.length));

function group(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    if (!groups.has(node.provider)) groups.set(node.provider, []);
    groups.get(node.provider).push(node);
  }
  return groups;
}

function failuresCard(records) {
  const list = records.failures.slice(0, MAX_ROWS);
  return h('section', {class: 'card', 'aria-label': 'Recent failures'},
           h('header', {}, h('h2', {}, 'Recent failures'), h('a', {href: '#/failures'}, 'All failures')),
           list.length === 0 ? h('p', {class: 'muted'}, LISTS.failures.empty)
             : h('ul', {class: 'brief'}, list.map((row) => h('li', {},
               link('failures', row.id, row.of, {class: 'mono'}),
               h('span', {class: 'why', title: row.details ?? ''}, `${row.event}: ${reasonOf(row, records)}`),
               age(row.time)))));
}

// --- providers

// `callRate(name)`: calls a minute, measured since the page was opened; undefined while unknown.
export function providers(records, chosen, callRate, trends) {
  const own = new Map(records.all('provider').map((row) => [row.id, row]));
  const names = providerNames(records);
  if (names.length === 0) return noProviders();
  const nodes = group(records.all('node'));
  return h('div', {class: 'cards'}, names.map((name) => providerCard(records, name, own.get(name), nodes.get(name) ?? [], chosen === name, callRate(name), trends.get('provider'))));
}

function providerCard(records, name, facts, nodes, isChosen, callRate, trends) {
  const pools = records.pools.filter((pool) => pool.provider === name);
  return h('section', {class: `card ${isChosen ? 'chosen' : ''}`, id: `provider-${name}`, 'aria-label': name, 'aria-current': isChosen && 'true'},
           h('header', {}, h('h2', {tabindex: isChosen && -1}, name), h('span', {class: 'muted'}, facts ? (facts.makes_machines ? 'launches nodes' : 'allocates static hosts')
             : 'served by another launcher')),
           facts?.refusing && h('p', {class: 'note bad'}, 'The cloud has just rejected a launch although the quota seemed sufficient. Retrying soon.'),
           facts?.quota_failure && h('p', {class: 'note bad'}, `Reading the quota failed: ${facts.quota_failure}`),
           h('div', {}, h('a', {href: `#/nodes?provider=${encodeURIComponent(name)}`}, count(nodes.length, 'node')),
             nodes.length > 0 && stateBar(countStates(nodes))),
           trendCharts(trends, name, ['nodes', 'failed']),
           amounts('Limits of the provider', facts?.amounts),
           (facts?.pools ?? []).map((pool) => poolLines(pool, pools)),
           !facts && pools.map((pool) => h('p', {}, pool.name, ' ', h('span', {class: 'muted'}, `on ${pool.host}`))),
           facts?.makes_machines && work(facts, callRate));
}

function amounts(title, list = []) {
  if (list.length === 0) return null;
  return h('div', {class: 'lines'}, h('h3', {}, title), list.map(({resource, used, limit}) => meter(resource, used, limit)));
}

function poolLines(facts, registered) {
  const pools = registered.filter((pool) => pool.name === facts.name);
  const labels = [...new Set(pools.flatMap((pool) => pool.labels ?? []))].sort();
  const paused = pools.some((pool) => pool.paused);
  return h('div', {class: 'lines'},
           h('h3', {}, `Pool ${facts.name}`, pools.length ? ` on ${pools.map((pool) => pool.host).join(', ')}` : ', not registered', paused ? ', at capacity' : ''),
           (facts.amounts ?? []).filter(({limit}) => limit !== undefined).map(({resource, used, limit}) => meter(resource, used, limit)),
           labels.length > 0 && h('div', {class: 'chips'}, labels.slice(0, 40).map((label) => link('labels', label, label, {class: 'chip'})),
             labels.length > 40 && h('span', {class: 'muted'}, `and ${labels.length - 40} more`)),
           (facts.problems ?? []).map((problem) => h('p', {class: 'note bad'}, problem)));
}

// "30 ready, 9 failed (status)".
function resultsOf(results) {
  const texts = results.toSorted((a, b) => (b.name === 'ready') - (a.name === 'ready')).map(({name, count: number}) =>
    `${number.toLocaleString('en')} ${name.startsWith('error.') ? `failed (${name.slice(6)})` : name}`);
  return texts.join(', ');
}

const total = (calls = []) => calls.reduce((sum, call) => sum + call.count, 0);

// The launches in progress, and the results of launches and calls since the start of the launcher.
function work(facts, callRate) {
  const calls = total(facts.calls);
  const seconds = (facts.calls ?? []).reduce((sum, call) => sum + (call.seconds ?? 0), 0);
  const errors = facts.errors ?? [];
  const most = facts.max_concurrency;
  const item = (name, ...content) => [h('dt', {}, name), h('dd', {}, content)];
  return h('dl', {class: 'facts'},
           item('Launching', `${facts.launches}${most >= 0 ? ` of at most ${most} at a time` : ' now'}`),
           facts.launched?.length > 0 && item('Launches', resultsOf(facts.launched)),
           calls > 0 && item('API calls', calls.toLocaleString('en'), `, ${duration(seconds / calls)} each`,
                             callRate === undefined ? '' : `, ${Math.round(callRate).toLocaleString('en')} a minute`),
           calls > 0 && item('API errors', errors.length === 0 ? 'none' : errors.map((error, index) => [index ? ', ' : '',
             h('span', {class: 'bad-text'}, `${error.count.toLocaleString('en')} × ${error.name === '0' ? 'no response' : error.name}`)])));
}

