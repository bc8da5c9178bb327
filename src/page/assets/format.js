// Creates elements and formats times and amounts.

// Creates an element. Strings become text nodes, never markup; attributes `on…` are listeners.
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'class') element.className = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function link(section, id, text = id, attributes = {}) {
  return h('a', {href: `#/${section}/${encodeURIComponent(id)}`, ...attributes}, text);
}

// The parts of a text, with `code` as elements.
export function prose(text) { return text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? h('code', {}, part) : part)); }

// Ages are computed with the server's clock, which may differ from the browser's.
let clockOffset = 0;
export function setServerTime(seconds) { clockOffset = seconds - Date.now() / 1000; }
export function now() { return Date.now() / 1000 + clockOffset; }

// "4 s", "3 min 05 s", "2 h 10 min", "5 d 03 h".
export function duration(seconds) {
  const two = (number) => String(number).padStart(2, '0');
  const whole = Math.max(0, seconds);
  if (whole < 9.95) return `${whole.toFixed(whole < 0.95 && whole > 0 ? 2 : 1)} s`;
  const s = Math.round(whole);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor(s % 3600 / 60))} min`;
  return `${Math.floor(s / 86400)} d ${two(Math.floor(s % 86400 / 3600))} h`;
}

function ageText(then) {
  const seconds = now() - then;
  if (seconds < -1) return `in ${duration(Math.round(-seconds))}`;
  return seconds < 9.5 ? `${Math.round(Math.max(seconds, 0))} s` : duration(seconds);
}

// In ISO 8601. Null if no date has that time: records may have any number.
function isoTime(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

const unknownTime = () => h('span', {class: 'muted'}, '–');

export function moment(seconds) {
  const iso = isoTime(seconds);
  return iso ? `${iso.slice(0, 19).replace('T', ' ')} UTC` : '–';
}

// "14:03:22" in the viewer's time zone; the title has the full time.
export function clockTime(seconds) {
  const iso = isoTime(seconds);
  if (!iso) return unknownTime();
  return h('time', {datetime: iso, title: moment(seconds)}, new Date(iso).toLocaleTimeString([], {hour12: false}));
}

// The time since then; refreshAges() updates it.
export function age(then) {
  const iso = isoTime(then);
  return iso ? h('time', {datetime: iso, title: moment(then), 'data-then': then}, ageText(then)) : unknownTime();
}

export function refreshAges() {
  for (const element of document.querySelectorAll('time[data-then]')) {
    const text = ageText(Number(element.dataset.then));
    if (element.textContent !== text) element.textContent = text;
  }
}

export function count(number, one, many = `${one}s`) { return `${number.toLocaleString('en')} ${number === 1 ? one : many}`; }

export function amount(value) { return Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(1); }

// "debian-12, 2 × fedora".
export function several(names = []) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, number]) => (number > 1 ? `${number} × ${name}` : name)).join(', ');
}

// --- states

const SHADES = {
  ready: 'good', fulfilled: 'good', running: 'good',
  'in-use': 'busy', pending: 'busy',
  init: 'making', building: 'making', testing: 'making', uploading: 'making', requested: 'making', initializing: 'making',
  failed: 'bad', aborted: 'bad', hold: 'held', paused: 'held',
};

export function shadeOf(state) { return `shade-${SHADES[state] ?? 'past'}`; }

export function badge(state) {
  const shape = {failed: 'square', aborted: 'square', hold: 'square', requested: 'hollow', init: 'hollow', deleting: 'hollow'}[state] ?? '';
  return h('span', {class: `badge ${shape} ${shadeOf(state)}`}, state);
}

// The order in which states are shown.
const STATE_ORDER = ['ready', 'in-use', 'building', 'init', 'testing', 'hold', 'used', 'deleting', 'failed', 'aborted', 'deleted'];
export function byState(counts) {
  return [...counts].sort(([a], [b]) => STATE_ORDER.indexOf(a) - STATE_ORDER.indexOf(b));
}

// A bar with a part for each state, and a legend. `most`: the number of nodes for a bar of the whole width, so that bars
// can be compared; by default this bar's.
export function stateBar(counts, {legend = true, target, most} = {}) {
  const parts = byState(counts);
  const bar = h('div', {class: 'stack', 'aria-hidden': 'true'});
  if (most) bar.style.width = `${parts.reduce((sum, [, number]) => sum + number, 0) / most * 100}%`;
  for (const [state, number] of parts) {
    const part = h('span', {class: shadeOf(state)});
    part.style.flexGrow = number;
    bar.append(part);
  }
  const words = parts.map(([state, number]) => {
    const text = [badge(state), ' ', h('b', {}, number.toLocaleString('en'))];
    return h('li', {}, target ? h('a', {href: target(state)}, text) : text);
  });
  return h('div', {}, bar, legend && h('ul', {class: 'legend'}, words));
}

// A bar for the usage of a resource.
export function meter(name, used, limit) {
  const known = limit !== undefined;
  const share = known ? Math.min(1, limit > 0 ? used / limit : Number(used > 0)) : 0;
  const fill = h('span', {class: `fill ${share >= 0.9 ? 'shade-making' : 'shade-busy'}`});
  fill.style.width = `${share * 100}%`;
  const words = known ? `${amount(used)} of ${amount(limit)}` : `${amount(used)}, no limit`;
  const track = known
    ? h('span', {class: 'track', role: 'meter', 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': limit,
                 'aria-valuenow': Math.min(used, limit), 'aria-valuetext': words}, fill)
    : h('span', {class: 'track unlimited'});
  return h('div', {class: 'meter'}, h('span', {}, name), track, h('span', {class: 'amount'}, words));
}
