// What the API tells of a thing: why it is as it is, and what has happened to it.

import {clockTime, duration, h, link} from './format.js';

// Statements, with those that belong to them.
export function said(explanation) {
  const list = (statements = []) => h('ul', {class: 'said'}, statements.map((statement) => h('li', {},
    statement.name && statement.name !== statement.text && h('span', {class: 'name'}, `${statement.name}: `), statement.text,
    statement.details?.length ? list(statement.details) : null)));
  return [list(explanation.statements), ...(explanation.others ?? []).map((other) => list(other.statements)),
          explanation.not_shown && h('p', {class: 'muted'}, `and ${explanation.not_shown} more`)];
}

// Stages of a launch by the events that end them; the last of an event counts, for a launch may be made anew.
const NODE_STAGES = {
  init: 'reserved', building: 'launch begun', created: 'created', active: 'active', 'port-open': 'port open', 'key-read': 'key read', ready: 'ready', 'in-use': 'handed out',
};

function stageTimes(nodeEvents = [], requestEvents = []) {
  const times = new Map();
  const asked = requestEvents.find((event) => event.event === 'requested');
  const decided = requestEvents.findLast((event) => event.event === 'decision' && event.data?.decision === 'accepts');
  if (asked) times.set('asked', asked.time);
  if (decided) times.set('decided', decided.time);
  for (const event of nodeEvents) {
    const stage = NODE_STAGES[event.event];
    if (stage) times.set(stage, event.time);
  }
  return [...times].sort(([, a], [, b]) => a - b);
}

// How long each stage took, and a lane that shows where in the whole it lies.
export function stages(nodeEvents, requestEvents, until) {
  const times = stageTimes(nodeEvents, requestEvents);
  if (times.length === 0) return null;
  const isOver = times.some(([stage]) => stage === 'ready' || stage === 'handed out');
  const begin = times[0][1];
  const end = isOver ? times.at(-1)[1] : until;
  const whole = Math.max(end - begin, 0.001);
  return [h('ol', {class: 'stages'}, times.map(([stage, time], index) => {
    const before = index ? times[index - 1][1] : time;
    const bar = h('span');
    bar.style.marginLeft = `${(before - begin) / whole * 100}%`;
    bar.style.width = `${(time - before) / whole * 100}%`;
    return h('li', {}, h('span', {}, stage), h('span', {class: 'lane', 'aria-hidden': 'true'}, bar),
             h('span', {class: 'took'}, index ? `+${duration(time - before)}` : clockTime(time)));
  })), h('p', {class: 'muted'}, `${duration(end - begin)} from the first to ${isOver ? 'the last' : 'now'}`)];
}

const MOST = 200;  // events that are shown

export function history(events) {
  const shown = events.slice(-MOST).reverse();
  return [h('ul', {class: 'events'}, shown.map((event) => h('li', {}, clockTime(event.time),
    h('div', {class: 'what'}, event.event, ' ', related(event),
      event.details && h('div', {class: 'details'}, event.details.replace(/^\S*PoolWorker\./, '')))))),
    events.length > MOST && h('p', {class: 'muted'}, `and ${events.length - MOST} before`)];
}

function related(event) {
  const links = [];
  if (event.request) links.push(link('requests', event.request, event.request, {class: 'mono'}), ' ');
  for (const node of event.nodes ?? []) links.push(link('nodes', node, node, {class: 'mono'}), ' ');
  return links;
}
