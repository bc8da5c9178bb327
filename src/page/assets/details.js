// Details of one record: its row, and its explanation and history from the API.

import {getJson} from './connection.js';
import {age, badge, clockTime, count, duration, h, link, moment, now, stateBar} from './format.js';
import {trendCharts} from './chart.js';
import {confirmed} from './confirmation.js';
import {mainOpinion, whyOf} from './records.js';
import {poolsOn, reasonOf, sectionOf} from './lists.js';
import {buildList} from './builds.js';
import {history, remaining, stages, statementList} from './story.js';

const facts = (...entries) => h('dl', {class: 'facts'}, entries.filter(([, value]) => value && value.length !== 0)
  .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

const section = (title, ...content) => {
  const shown = content.flat(Infinity).filter(Boolean);
  return shown.length ? h('section', {'aria-label': title}, h('h3', {}, title), shown) : null;
};

const joined = (links) => links.flatMap((item, index) => (index ? [', ', item] : [item]));
function labelLinks(labels = []) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return joined([...counts].map(([label, number]) => [number > 1 ? `${number} × ` : '', link('labels', label)]));
}

// For each section: the kind of record, how to find one by id, how to show it, whether the API explains it, and the keys
// of the explanation that are shown anyway.
const DETAILS = {
  requests: {kind: 'Request', find: (records, id) => records.find('request', id), show: requestDetail, isExplained: true,
             shown: ['wants', 'by', 'tenant', 'prefers', 'position', 'reason']},
  nodes: {kind: 'Node', find: (records, id) => records.find('node', id), show: nodeDetail, isExplained: true,
          shown: ['labels', 'pool', 'host', 'request', 'tenant', 'requestor', 'lease', 'comment']},
  labels: {kind: 'Label', find: (records, id) => records.labels.get(id), show: labelDetail, isExplained: true},
  images: {kind: 'Image', find: (records, id) => records.images.get(id), show: imageDetail},
  hosts: {kind: 'Static host', find: (records, id) => records.hosts.get(id), show: hostDetail, isExplained: true,
          subject: (row) => row.host},
  failures: {kind: 'Failure', find: (records, id) => records.failures.find((row) => row.id === id), show: failureDetail,
             title: (row) => `${row.subject} ${row.of}`},
  daemons: {kind: 'Daemon', find: (records, id) => records.find('component', id), show: daemonDetail},
};

export const hasDetails = (name) => name in DETAILS;

// The explanation contains the decisions of the pools.
function requestDetail(row, records, {isExplained}) {
  const position = records.queue.get(row.id);
  return [
    facts(['State', [badge(row.state), ' for ', age(row.since)]],
          ['Queue position', position && `${position} of ${records.queue.size}`],
          ['Labels', labelLinks(row.labels)],
          ['Requested', row.created && [age(row.created), ` ago, ${moment(row.created)}`]],
          ['Requestor', row.requestor], ['Holder', row.order?.holder], ['Tenant', row.tenant], ['Prefers', row.prefers],
          ['Priority', `${row.id.split('-')[0]}${row.relative ? `, relative ${row.relative}` : ''}`],
          ['Event', row.event], ['Expires', row.order && moment(row.order.expires)],
          ['Nodes', joined((row.nodes ?? []).map((id) => link('nodes', id, id, {class: 'mono'})))]),
    section('Reason', h('p', {class: row.state === 'failed' ? 'note bad' : 'note'}, whyOf(row, records))),
    !isExplained && section('Decisions of the pools', poolList(row, records)),
  ];
}

// The decisions of the pools: those of others first, then the declines.
function poolList(row, records) {
  const declined = (row.declined ?? []).map((decline) => h('li', {}, h('span', {class: 'name'}, records.poolName(decline.pool)), ' ',
    h('span', {class: 'bad-text'}, 'declined'), `: ${decline.reason ?? 'no reason recorded'}`));
  const decliners = new Set((row.declined ?? []).map((decline) => decline.pool));
  const leader = row.state === 'requested' ? records.leaderOf(row) : row;
  const best = mainOpinion(leader);
  const others = (leader.opinions ?? []).filter((opinion) => !decliners.has(opinion.pool));
  others.sort((a, b) => (b === best) - (a === best));
  const list = [...others.map((opinion) => h('li', {}, h('span', {class: 'name'}, records.poolName(opinion.pool)), ` ${opinion.text}`)), ...declined];
  return [leader !== row && h('p', {class: 'muted'}, 'Decisions about ', link('requests', leader.id, leader.id, {class: 'mono'}),
                               ', the first request with the same conditions:'),
          list.length > 0 && h('ul', {class: 'statements'}, list)];
}

function nodeDetail(row, records) {
  const request = row.request && records.find('request', row.request);
  const lease = row.lease;
  return [
    facts(['State', [badge(row.state), ' for ', age(row.since)]],
          ['Labels', labelLinks(row.labels)],
          ['Provider', [link('providers', row.provider ?? ''), row.pool ? ` / ${row.pool}` : '', row.az ? `, ${row.az}` : '']],
          ['Host', row.host],
          ['Machine', row.machine && h('span', {class: 'mono'}, typeof row.machine === 'string' ? row.machine : JSON.stringify(row.machine))],
          ['Image', row.image], ['Request', row.request && (request ? link('requests', row.request) : row.request)],
          ['Tenant', row.tenant], ['Requestor', row.requestor],
          ['Leased by', lease && `${lease.holder}, until ${moment(lease.expires)}`],
          ['Locked', row.locked ? 'yes' : 'no'], ['Created', row.created && [age(row.created), ` ago, ${moment(row.created)}`]],
          ['Hold', row.hold_job], ['Comment', row.comment]),
    section('Launch in progress', launch(row)),
  ];
}

// The steps in the journal of the record, from which a launch can be resumed.
function launch(row) {
  const journal = row.journal;
  if (!journal) return null;
  const steps = Object.entries(journal.steps ?? {}).sort(([, a], [, b]) => a.begun - b.begun);
  return [h('p', {}, `Attempt ${journal.attempt}${journal.undo ? '; rolling back' : ''}`),
          h('ul', {class: 'events'}, steps.map(([name, step]) => h('li', {}, clockTime(step.begun),
            h('span', {class: 'what'}, name, ' ', h('span', {class: 'muted'}, step.result === null || step.result === undefined ? 'in progress' : 'done')))))];
}

function labelDetail(row, records, {trends}) {
  const queue = [...records.queue.keys()].map((id) => records.find('request', id)).filter((request) => request.labels?.includes(row.id));
  const failures = records.failures.filter((failure) => concerns(failure, row.id, records)).slice(0, 20);
  return [
    h('p', {}, count(row.nodes, 'node'), `, ${row.ready} of them free`),
    row.nodes > 0 && stateBar(row.states, {target: (state) => `#/nodes?label=${encodeURIComponent(row.id)}&state=${encodeURIComponent(state)}`}),
    section('Last hours', trendCharts(trends.get('label', row.id), row.id)),
    section('Pools that offer it', row.pools.length ? h('ul', {class: 'statements'}, row.pools.map((pool) => h('li', {},
      link('providers', pool.provider), ` / ${pool.name} on ${pool.host}`, pool.paused ? h('span', {class: 'muted'}, ', at capacity') : ''))) : h('p', {class: 'note bad'}, 'None.')),
    section(`Waiting: ${queue.length}`, queue.length > 0 && h('ol', {class: 'brief'}, queue.slice(0, 20).map((request) => h('li', {},
      link('requests', request.id, request.id, {class: 'mono'}), h('span', {class: 'why', title: whyOf(request, records)}, whyOf(request, records)),
      age(request.created ?? request.since)))),
      queue.length > 20 && h('a', {href: `#/requests?label=${encodeURIComponent(row.id)}`}, `All ${queue.length}`)),
    section('Recent changes', recentChanges(row.id, records)),
    section('Failures', failures.length > 0 && h('ul', {class: 'events'}, failures.map((failure) => h('li', {}, clockTime(failure.time),
      h('span', {class: 'what'}, link(`${failure.subject}s`, failure.of), ` ${failure.event}`, h('div', {class: 'details'}, failure.details ?? '')))))),
  ];
}

function concerns(failure, label, records) {
  const row = ['node', 'request'].includes(failure.subject) && records.find(failure.subject, failure.of);
  return row ? row.labels?.includes(label) : false;
}

// The nodes of a label whose states have changed last.
function recentChanges(label, records) {
  const nodes = records.all('node').filter((node) => node.labels?.includes(label)).sort((a, b) => b.since - a.since).slice(0, 12);
  return nodes.length > 0 && h('ul', {class: 'events'}, nodes.map((node) => h('li', {}, clockTime(node.since),
    h('span', {class: 'what'}, link('nodes', node.id, node.id, {class: 'mono'}), ' ', badge(node.state)))));
}

function imageDetail(row) {
  const paused = (row.configured?.paused && 'by the configuration') || (row.paused && 'by an operator');
  const next = row.wanted || row.busy ? 'No builds yet.'
    : `Never built. ${paused ? 'It is paused.' : `A builder whose configuration has it builds it; request that with: nodepool image-build ${row.id}`}`;
  return [
    facts(['Paused', paused], ['Build requested', row.wanted && [age(row.wanted), ' ago']], ['Build in progress', row.busy && 'yes'],
          ['Configured', row.configured ? '' : 'not in the configuration of this launcher']),
    section('Builds', row.builds?.length ? buildList(row) : h('p', {class: 'muted'}, next)),
  ];
}

function hostDetail(row) {
  return [
    facts(['Provider', [link('providers', row.provider), row.pool ? ` / ${row.pool}` : '']],
          ['Nodes', h('ul', {}, row.nodes.map((node) => h('li', {}, link('nodes', node.id, node.id, {class: 'mono'}), ' ', badge(node.state))))]),
    section('Problems', row.problems.map((report) => [h('p', {class: 'note bad'}, report.problem),
      facts(['Port', String(report.port)], ['Since', [age(report.since), ` ago, ${moment(report.since)}`]],
            ['Next check', `within ${duration(report.next_check ?? 0)}`], ['Labels', labelLinks(report.labels)], ['Reported by', report.launcher])])),
  ];
}

function failureDetail(row, records) {
  return [
    facts(['Event', row.event], ['Time', [age(row.time), ` ago, ${moment(row.time)}`]], ['Subject', link(sectionOf(row.subject), row.of)],
          ['Related', joined((row.related ?? []).map((id) => link(row.subject === 'node' ? 'requests' : 'nodes', id, id, {class: 'mono'})))]),
    section('Reason', h('p', {class: 'note bad'}, reasonOf(row, records))),
  ];
}

function daemonDetail(row, records) {
  return [
    facts(['Kind', row.kind], ['State', badge(row.state)], ['Version', row.version]),
    section('Pools on this host', poolsOn(row, records).length > 0 && h('ul', {class: 'statements'}, poolsOn(row, records).map((pool) => h('li', {},
      link('providers', pool.provider), ` / ${pool.name}`, h('span', {class: 'muted'}, `, ${count(pool.labels?.length ?? 0, 'label')}${pool.paused ? ', at capacity' : ''}`))))),
  ];
}

// --- the panel

const REFETCH_INTERVAL = 3000;  // ms between requests for the explanation and the history

export class DetailPanel {
  constructor(element, records, trends, operator) {
    Object.assign(this, {element, records, trends, operator});
    this.actions = h('div', {class: 'actions'});
    this.limitation = h('p', {class: 'muted'});  // why there are no actions
    this.done = h('p', {class: 'muted', role: 'status'});
    this.fromApi = h('div');  // explanation and history
    this.body = h('div');
  }

  // Shows the record with this id; null: closes the panel.
  show(name, id, onClose) {
    const isNew = this.name !== name || this.id !== id;
    Object.assign(this, {name, id});
    if (id === null) {
      this.element.hidden = true;
      return;
    }
    if (isNew) this.begin(onClose);
    this.refresh();
  }

  begin(onClose) {
    this.row = undefined;
    this.fetched = 0;
    this.isExplained = false;
    this.fromApi.replaceChildren();
    this.actions.replaceChildren();
    this.offered = '';
    this.done.textContent = '';
    this.title = h('h2', {id: 'detail-title', tabindex: -1}, this.id);
    this.element.replaceChildren(h('header', {}, h('div', {}, h('span', {class: 'kind'}, DETAILS[this.name].kind), this.title),
      h('button', {type: 'button', class: 'quiet', 'aria-label': 'Close the details', onclick: onClose}, '✕')), this.actions, this.limitation, this.done,
      this.body, this.fromApi);
    this.element.hidden = false;
    this.element.scrollTop = 0;
  }

  refresh() {
    if (this.id === null || this.id === undefined) return;
    const {find, show, isExplained} = DETAILS[this.name];
    const row = find(this.records, this.id);
    if (!this.element.contains(document.activeElement) || !this.body.contains(document.activeElement)) {
      this.body.replaceChildren(...(row ? show(row, this.records, {trends: this.trends, isExplained: this.isExplained}) : [h('p', {class: 'note'}, 'Not found: it was deleted or never existed. Its history may still be available.')])
        .flat(Infinity).filter(Boolean));
    }
    if (row && DETAILS[this.name].title) this.title.textContent = DETAILS[this.name].title(row);
    this.offer(this.operator.actions(this.name, row, this.records));
    this.limitation.textContent = this.operator.limitation(this.name);
    if (isExplained && (this.fetched === 0 || row !== this.row)) this.fetchSoon();
    this.row = row;
  }

  // Shows a button for each action. The buttons stay while the actions are the same: one of them may have the focus.
  offer(actions) {
    this.latest = actions;
    const offered = actions.map(({label}) => label).join();
    if (offered === this.offered) return;
    this.offered = offered;
    this.actions.replaceChildren(...actions.map(({label}, index) => h('button', {type: 'button', onclick: () => this.perform(this.latest[index])}, label)));
  }

  async perform(action) {
    this.done.textContent = '';
    const {id} = this;
    if (!await confirmed(action) || id !== this.id) return;
    this.done.textContent = `${action.label}: ${action.result ?? 'done'}.`;
    this.focus();
  }

  fetchSoon() {
    if (this.timer) return;
    const due = this.fetched + REFETCH_INTERVAL - Date.now();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.fetch().catch(() => {});
    }, Math.max(0, due));
  }

  async fetch() {
    const {name, id, row} = this;
    if (id === null) return;
    this.fetched = Date.now();
    const subject = encodeURIComponent(DETAILS[name].subject?.(row ?? {host: id}) ?? id);
    const {shown} = DETAILS[name];
    const isRecord = name === 'nodes' || name === 'requests';
    const other = name === 'nodes' ? row?.request : undefined;
    const [explanation, own, requestHistory] = await Promise.all([
      getJson(`api/v1/explain/${subject}`), isRecord ? getJson(`api/v1/history/${subject}`) : null,
      other ? getJson(`api/v1/history/${encodeURIComponent(other)}`) : null]);
    if (name !== this.name || id !== this.id) return;
    if (this.fromApi.contains(document.activeElement)) return;
    const nodeEvents = name === 'nodes' ? own?.history : undefined;
    const requestEvents = name === 'nodes' ? requestHistory?.history : own?.history;
    this.fromApi.replaceChildren(...[
      name === 'nodes' && section('Stages', stages(nodeEvents, requestEvents, now())),
      section('Explanation', explanation && statementList(shown ? remaining(explanation, shown) : explanation)),
      section('History', own?.history && history(own.history)),
    ].filter(Boolean));
    this.isExplained = Boolean(explanation);
    this.refresh();
  }

  focus() { this.title?.focus(); }
}
