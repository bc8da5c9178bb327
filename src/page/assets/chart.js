// Charts of the last hours. A value is drawn as wide as its step; unknown values leave a gap.

import {h} from './format.js';

const NAMESPACE = 'http://www.w3.org/2000/svg';
const COUNT_INTERVAL = 60;  // seconds between the server's counts

function svg(name, attributes, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The layers of a chart, lowest first: the key of the values, their name and colour.
const CHARTS = {
  waiting: {title: 'Requests waiting', layers: [{key: 'waiting', text: 'waiting', shade: 'making'}]},
  nodes: {title: 'Nodes', layers: [{key: 'in_use', text: 'in use', shade: 'busy'}, {key: 'ready', text: 'ready', shade: 'good'},
                                   {key: 'launching', text: 'launching', shade: 'making'}]},
  failed: {title: 'Nodes failed', layers: [{key: 'failed', text: 'failed', shade: 'bad'}]},
};
const ALL = ['waiting', 'nodes', 'failed'];

// The outline of an area between two lines of steps, `heights` above `bases`, in units of values.
function areaPath(bases, heights, top) {
  let path = '';
  for (let begin = 0; begin < heights.length; begin += 1) {
    if (heights[begin] === null) continue;
    let end = begin;
    while (end < heights.length && heights[end] !== null) end += 1;
    path += `M${begin} ${top - bases[begin]}`;
    for (let i = begin; i < end; i += 1) path += `V${top - bases[i] - heights[i]}H${i + 1}`;
    for (let i = end - 1; i >= begin; i -= 1) path += `V${top - bases[i]}H${i}`;
    path += 'Z';
    begin = end;
  }
  return path;
}

const sum = (series, layers, index) => (series[layers[0].key][index] === null ? null
  : layers.reduce((total, {key}) => total + series[key][index], 0));

function sums(series, layers) { return series[layers[0].key].map((_, index) => sum(series, layers, index)); }

// The time of a value: of the last count of its step.
const timeOf = ({begin, step}, index) => begin + (index + 1) * step - COUNT_INTERVAL;

// Where the first count is, in steps: the first step may begin before it.
const startOf = ({begin, first, step}) => (first - begin) / step;

function plot(series, layers, top, trends) {
  const length = series.waiting.length;
  const start = startOf(trends);
  const bases = new Array(length).fill(0);
  const known = svg('path', {class: 'known', d: areaPath(bases, series.waiting.map((value) => (value === null ? null : top)), top)});
  const paths = layers.map(({key, shade}) => {
    const path = svg('path', {class: `shade-${shade}`, d: areaPath(bases, series[key], top)});
    series[key].forEach((value, index) => { bases[index] += value ?? 0; });
    return path;
  });
  return svg('svg', {viewBox: `${start} 0 ${length - start} ${top}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'}, known, ...paths);
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit', hour12: false});

// "1 waiting", "2 in use, 1 ready, 0 launching".
const words = (series, layers, index) => layers.map(({key, text}) => `${series[key][index].toLocaleString('en')} ${text}`).join(', ');

// The full hours, or parts of them, with their position in the whole.
function ticks({begin, first, step}, length) {
  const end = begin + length * step;
  const span = end - first;
  const distance = [300, 900, 1800, 3600].find((each) => span / each <= 6) ?? 7200;
  const list = [];
  for (let time = Math.ceil(first / distance) * distance; time < end; time += distance) {
    const tick = h('span', {}, clock(time));
    tick.style.left = `${(time - first) / span * 100}%`;
    list.push(tick);
  }
  return h('div', {class: 'ticks', 'aria-hidden': 'true'}, list);
}

function summary(title, values, trends) {
  const highest = Math.max(...values);
  const when = highest > 0 ? ` at ${clock(timeOf(trends, values.indexOf(highest)))}` : '';
  return `${title} since ${clock(trends.first)}: now ${values.at(-1) ?? 'unknown'}, highest ${highest}${when}`;
}

// One chart with its scale. `show(index)`: the pointer is at a value; undefined: at none.
function chart({title, layers}, series, trends, show) {
  const values = sums(series, layers);
  const highest = Math.max(1, ...values);
  const line = h('span', {class: 'crosshair', hidden: true});
  const area = h('div', {class: 'plot', role: 'img', 'aria-label': summary(title, values, trends)}, plot(series, layers, highest, trends), line);
  const start = startOf(trends);
  const indexAt = (event) => {
    const {left, width} = area.getBoundingClientRect();
    return Math.min(values.length - 1, Math.max(0, Math.floor(start + (event.clientX - left) / width * (values.length - start))));
  };
  area.addEventListener('pointermove', (event) => show(indexAt(event)));
  area.addEventListener('pointerleave', () => show(undefined));
  const legend = layers.length > 1 && h('ul', {class: 'legend'}, layers.map(({text, shade}) => h('li', {class: `badge square shade-${shade}`}, text)));
  const element = h('div', {class: 'chart'}, h('div', {class: 'caption'}, h('h3', {}, title), legend), area,
                    h('span', {class: 'scale', 'aria-hidden': 'true'}, highest.toLocaleString('en')));
  return {element, line};
}

function charts(names, series, trends) {
  const shown = names.map((name) => CHARTS[name]);
  const readout = h('p', {class: 'readout muted', 'aria-hidden': 'true'});
  const length = series.waiting.length;
  const start = startOf(trends);
  const show = (index) => {
    for (const {line} of made) {
      line.hidden = index === undefined;
      if (index !== undefined) line.style.left = `${((Math.max(index, start) + index + 1) / 2 - start) / (length - start) * 100}%`;
    }
    readout.textContent = index === undefined ? latest : `${clock(timeOf(trends, index))}: ${at(index)}`;
  };
  const at = (index) => (series.waiting[index] === null ? 'unknown' : shown.map(({layers}) => words(series, layers, index)).join(', '));
  const latest = `Since ${clock(trends.first)}; at ${clock(timeOf(trends, length - 1))}: ${at(length - 1)}`;
  const made = shown.map((each) => chart(each, series, trends, show));
  show(undefined);
  return h('div', {class: 'trend'}, made.map(({element}) => element), ticks(trends, length), readout);
}

// Charts are made once for each series, and moved when their surroundings are rendered again: the pointer may be on them.
const drawn = new WeakMap();

// The charts of the series of this name (of all, without a name); `names`: some of "waiting", "nodes", "failed".
export function trendCharts(trends, name, names = ALL) {
  if (!trends) return h('p', {class: 'muted'}, 'Loading…');
  if (trends.steps === 0) return h('p', {class: 'muted'}, 'The launcher takes the first sample as soon as it has read the records.');
  const series = trends.series.get(name);
  if (!series) {
    return h('p', {class: 'muted'}, trends.incomplete ? 'Not kept: there were too many labels or providers in the last six hours.'
      : `${names.includes('waiting') ? 'No waiting requests and no nodes' : 'No nodes'} since ${clock(trends.first)}, counted once a minute.`);
  }
  if (!drawn.has(series)) drawn.set(series, charts(names, series, trends));
  return drawn.get(series);
}

// The highest number of nodes in use.
export function peak(trends, name) {
  const series = trends?.series.get(name);
  return series && Math.max(...series.in_use);
}

// A small chart for a table's row: nodes, and the waiting requests above them.
export function sparkline(trends, name) {
  const series = trends?.series.get(name);
  if (!series) return '';
  const layers = [...CHARTS.nodes.layers.slice(0, 2), CHARTS.waiting.layers[0]];
  const highest = Math.max(1, ...sums(series, layers));
  return h('span', {class: 'sparkline', 'aria-hidden': 'true'}, plot(series, layers, highest, trends));
}
