// Explanation, launch stages and history of a record.

import {clockTime, duration, h, link, prose} from './format.js';

// The statements of an explanation, with their details.
export function statementList(explanation) {
  const list = (statements = []) => h('ul', {class: 'statements'}, statements.map((statement) => h('li', {},
    statement.name && statement.name !== statement.text && h('span', {class: 'name'}, `${statement.name}: `), prose(statement.text),
    statement.details?.length ? list(statement.details) : null)));
  return [list(explanation.statements), ...(explanation.others ?? []).map((other) => list(other.statements)),
          explanation.omitted && h('p', {class: 'muted'}, `and ${explanation.omitted} more`)];
}

// The explanation without the record itself and these keys of it, which are shown elsewhere.
export function remaining(explanation, keys) {
  const [record, ...rest] = explanation.statements;
  return {...explanation, statements: [...(record.details ?? []).filter(({key}) => !keys.includes(key)), ...rest]};
}

// Stages of a launch by the events that end them. The last event of a kind counts: launches are retried.
const NODE_STAGES = {
  init: 'reserved', building: 'launch started', created: 'created', active: 'active', 'port-open': 'port open', 'key-read': 'key read', ready: 'ready', 'in-use': 'in use',
};

// Events that end a launch without success.
const ENDS = ['failed', 'aborted', 'deleting', 'gone'];

function stageTimes(nodeEvents = [], requestEvents = []) {
  const times = new Map();
  const requested = requestEvents.find((event) => event.event === 'requested');
  const accepted = requestEvents.findLast((event) => event.event === 'decision' && event.data?.decision === 'accepts');
  if (requested) times.set('requested', requested.time);
  if (accepted) times.set('accepted', accepted.time);
  for (const event of nodeEvents) {
    const stage = NODE_STAGES[event.event];
    if (stage) times.set(stage, event.time);
  }
  return [...times].sort(([, a], [, b]) => a - b);
}

// The duration of each stage, and a bar with its position in the whole.
export function stages(nodeEvents, requestEvents, until) {
  const times = stageTimes(nodeEvents, requestEvents);
  if (times.length === 0) return null;
  const isOver = times.some(([stage]) => stage === 'ready' || stage === 'in use');
  const begin = times[0][1];
  const failed = nodeEvents?.find((event) => ENDS.includes(event.event));
  const end = isOver ? times.at(-1)[1] : failed?.time ?? until;
  const whole = Math.max(end - begin, 0.001);
  return [h('ol', {class: 'stages'}, times.map(([stage, time], index) => {
    const before = index ? times[index - 1][1] : time;
    const bar = h('span');
    bar.style.marginLeft = `${(before - begin) / whole * 100}%`;
    bar.style.width = `${(time - before) / whole * 100}%`;
    return h('li', {}, h('span', {}, stage), h('span', {class: 'lane', 'aria-hidden': 'true'}, bar),
             h('span', {class: 'took'}, index ? `+${duration(time - before)}` : clockTime(time)));
  })), h('p', {class: 'muted'}, `${duration(end - begin)} from the first to ${isOver ? 'the last' : failed ? 'the end of the launch' : 'now'}`)];
}

const MAX_EVENTS = 200;

export function history(events) {
  const shown = events.slice(-MAX_EVENTS).reverse();
  return [h('ul', {class: 'events'}, shown.map((event) => h('li', {}, clockTime(event.time),
    h('div', {class: 'what'}, event.event, ' ', related(event),
      event.details && h('div', {class: 'details'}, event.details))))),
    events.length > MAX_EVENTS && h('p', {class: 'muted'}, `and ${events.length - MAX_EVENTS} earlier`)];
}

function related(event) {
  const links = [];
  if (event.request) links.push(link('requests', event.request, event.request, {class: 'mono'}), ' ');
  for (const node of event.nodes ?? []) links.push(link('nodes', node, node, {class: 'mono'}), ' ');
  return links;
}
