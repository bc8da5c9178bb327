// The view depends on the URL only: #/SECTION[/ID][?CHOICES].

import {Connection, Unauthorized, setToken, token} from './connection.js';
import {CallRates} from './call_rates.js';
import {count, h, prose, refreshAges} from './format.js';
import {DetailPanel, hasDetails} from './details.js';
import {LISTS, filtered, matchCount} from './lists.js';
import {Operator} from './operator.js';
import {overview, problemsOf, providers} from './overview.js';
import {Records} from './records.js';
import {RowTable} from './table.js';
import {Trends} from './trends.js';

const SECTIONS = {
  overview: {title: 'Overview'},
  requests: {title: 'Requests', count: (records) => records.queue.size || ''},
  nodes: {title: 'Nodes', count: (records) => records.count('node')},
  labels: {title: 'Labels', count: (records) => records.labels.size},
  providers: {title: 'Providers'},
  images: {title: 'Images', count: (records) => records.images.size},
  hosts: {title: 'Static hosts', count: (records) => records.hosts.size},
  failures: {title: 'Failures', count: (records) => records.failures.length || ''},
  daemons: {title: 'Daemons', count: (records) => records.all('component').filter((row) => row.kind !== 'pool').length},
};
const UPDATE_INTERVAL = 15000;  // ms between updates without changes: the time goes on in charts
const IDENTIFY_INTERVAL = 10000;  // ms between attempts
const ANNOUNCE_INTERVAL = 8000;  // ms between announcements to screen readers

const element = (id) => document.getElementById(id);
const records = new Records();
const callRates = new CallRates();
const trends = new Trends(() => refresh());
const operator = new Operator();
const detail = new DetailPanel(element('detail'), records, trends, operator);
let view = null;  // {name, update()}

// --- routing

function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  const section = name in SECTIONS ? name : 'overview';
  let id = null;
  try {
    id = rest.length ? decodeURIComponent(rest.join('/')) : null;
  } catch {  // not a valid encoding
  }
  return {section, id, choices: Object.fromEntries(new URLSearchParams(query))};
}

function routeUrl(section, id, choices) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value)).toString();
  return `#/${section}${id === null ? '' : `/${encodeURIComponent(id)}`}${query ? `?${query}` : ''}`;
}

// Filters and sorting replace the URL, so they do not fill the browser's history.
function choose(changes) {
  const {section, id, choices} = route();
  history.replaceState(null, '', routeUrl(section, id, {...choices, ...changes}));
  update();
}

// --- views

function listView(name) {
  const list = LISTS[name];
  const table = new RowTable({
    label: list.title, columns: list.columns(records, trends).map((column) => keepChoices(column)), sort: list.sort, version: list.version?.(records, trends),
    onSort: (sort) => choose({sort: sort === list.sort ? '' : sort}),
    empty: () => (list.rows(records).length ? 'No matches. Change the filter.' : list.empty),
  });
  const search = h('input', {type: 'search', 'aria-label': `Filter ${list.words[1]}`, placeholder: 'Filter  ( / )', oninput: () => choose({q: search.value})});
  const selects = new Map(Object.entries(list.filters(records)).map(([key, {title}]) => [key, h('select', {'aria-label': title, onchange: (event) => choose({[key]: event.target.value})})]));
  const sorting = h('select', {class: 'sorting', 'aria-label': 'Sort by', onchange: (event) => choose({sort: event.target.value})},
                    list.columns(records, trends).flatMap(({key, title}) => [h('option', {value: key}, `${title} ↑`), h('option', {value: `-${key}`}, `${title} ↓`)]));
  const matches = h('p', {class: 'found', role: 'status'});
  element('main').replaceChildren(h('h1', {}, list.title), h('div', {class: 'tools', role: 'search'}, search, ...selects.values(), sorting, matches), table.element);
  return {name, search, table, update() {
    const {id, choices} = route();
    const rows = filtered(list, records, choices);
    const sort = choices.sort || list.sort;
    if (search.value !== (choices.q ?? '')) search.value = choices.q ?? '';
    sorting.value = sort;
    const filters = list.filters(records);
    for (const [key, select] of selects) setOptions(select, filters[key], choices[key] ?? '');
    table.show(rows, {sort, chosen: id});
    const text = matchCount(list, rows.length, list.rows(records).length);
    if (matches.textContent !== text) matches.textContent = text;
  }};
}

// Links of rows keep the filters and the sorting: the list stays visible beside the details.
function keepChoices(column) {
  return {...column, cell: (row) => {
    const content = column.cell(row);
    const {section} = route();
    if (content instanceof HTMLAnchorElement && content.hash.startsWith(`#/${section}/`)) {
      content.addEventListener('click', (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        location.hash = routeUrl(section, decodeURIComponent(content.hash.split('/').slice(2).join('/')), route().choices);
      });
    }
    return content;
  }};
}

function setOptions(select, {title, options}, value) {
  const wanted = options();
  if (value && !wanted.includes(value)) wanted.push(value);
  const known = [...select.options].slice(1).map((option) => option.value);
  if (select.options.length === 0 || known.join('\n') !== wanted.join('\n')) {
    select.replaceChildren(h('option', {value: ''}, `${title}: any`), ...wanted.map((option) => h('option', {value: option}, option)));
  }
  select.value = value;
}

// The card of class "chosen" is the one of the URL.
function cardView(name, title, content) {
  const scroll = h('div', {class: 'scroll'});
  element('main').replaceChildren(h('h1', {}, title), scroll);
  const chosen = () => scroll.querySelector('.chosen');
  let pointedTo = null;  // id of the card that was scrolled to
  return {name, update() {
    const {id} = route();
    const before = chosen()?.getBoundingClientRect();
    const area = scroll.getBoundingClientRect();
    const wasWhole = before && before.top >= area.top && before.bottom <= area.bottom;
    keepFocus(scroll, () => scroll.replaceChildren(content()));
    const card = chosen();
    if (card && id !== pointedTo) {
      card.scrollIntoView();
      card.querySelector('h2').focus({preventScroll: true});
    } else if (card && before) {
      scroll.scrollTop += card.getBoundingClientRect().top - before.top;  // the cards above it may have grown
      if (wasWhole) card.scrollIntoView({block: 'nearest'});  // it may have grown, too
    }
    if (card || id === null) pointedTo = id;
  }};
}

// Runs `change`, which replaces the cards, and restores the focus of the current link or heading.
function keepFocus(scroll, change) {
  const at = document.activeElement;
  if (!scroll.contains(at)) {
    change();
    return;
  }
  const key = (of) => of.getAttribute('href') ?? of.textContent;
  const same = () => [...scroll.querySelectorAll('a, h2')].filter((each) => key(each) === key(at));
  const index = same().indexOf(at);
  change();
  const again = same();
  (again[index] ?? again[0])?.focus({preventScroll: true});
}

function makeView(section) {
  if (section === 'overview') return cardView(section, 'Overview', () => overview(records, trends));
  if (section === 'providers') return cardView(section, 'Providers', () => providers(records, route().id, (name) => callRates.of(name), trends));
  return listView(section);
}

function update() {
  const {section, id} = route();
  const isNew = view?.name !== section;
  if (isNew) view = makeView(section);
  view.update();
  document.title = `${id ?? SECTIONS[section].title} · Nodepool`;
  showFrame(section);
  const wasOpen = !element('detail').hidden;
  detail.show(section, hasDetails(section) ? id : null, closeDetail);
  return {isNew, isOpened: !element('detail').hidden && !wasOpen};
}

// After a change of something else than the records.
function refresh() {
  if (records.revision === null) showToken();
  else update();
}

function closeDetail() {
  const {section, choices} = route();
  location.hash = routeUrl(section, null, choices);
  element('main').querySelector('tr a[tabindex="0"]')?.focus();
}

function onRouteChange() {
  const before = view?.name;
  update();
  const {section, id} = route();
  if (id !== null && hasDetails(section)) detail.focus();
  else if (before !== section && !element('main').contains(document.activeElement)) element('main').focus();
}

// --- frame

function showFrame(section) {
  const nav = element('nav');
  if (!nav.firstChild) {
    nav.append(...Object.entries(SECTIONS).map(([name, {title}]) => h('a', {href: `#/${name}`, 'data-section': name}, h('span', {}, title), h('span', {class: 'count'}))));
  }
  for (const anchor of nav.children) {
    const name = anchor.dataset.section;
    if (name === section) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
    const number = records.revision === null ? '' : SECTIONS[name].count?.(records) ?? '';
    anchor.lastChild.textContent = number.toLocaleString('en');
  }
  showSection(nav, section);
  showToken();
  showDashboard();
  if (records.revision !== null) showSummary();
}

// Scrolls the sections to the current one, also when their widths change, for example with their numbers.
function showSection(nav, section) {
  const shown = `${section} ${nav.scrollWidth} ${nav.clientWidth}`;
  if (nav.dataset.shown === shown) return;
  nav.dataset.shown = shown;
  nav.querySelector('[aria-current]').scrollIntoView({block: 'nearest', inline: 'center'});
}

function showDashboard() {
  const url = records.find('dashboard', 'dashboard')?.url;
  element('dashboard').hidden = !url;
  if (url) element('dashboard').href = url;
}

function showToken() {
  const {client} = operator;
  element('client').textContent = client?.name ? `${client.name} (${client.scope})` : '';
  element('token').textContent = token() === null ? 'Enter token' : 'Forget token';
}

function showSummary() {
  const states = records.states;
  const part = (number, text) => [h('b', {}, number.toLocaleString('en')), ` ${text}`];
  element('summary').replaceChildren(...part(records.queue.size, 'waiting, '), ...part(states.get('in-use') ?? 0, 'in use, '),
                                     ...part(states.get('ready') ?? 0, 'ready'));
}

let announcedAt = 0;
function announce() {
  if (Date.now() < announcedAt + ANNOUNCE_INTERVAL) return;
  const text = `${count(records.queue.size, 'request')} waiting, ${count(records.count('node'), 'node')}, ${count(problemsOf(records).length, 'problem')}`;
  if (element('announcement').textContent === text) return;
  announcedAt = Date.now();
  element('announcement').textContent = text;
}

function showConnection(state, text) {
  const shown = element('connection');
  if (shown.textContent === text) return;
  shown.className = `connection ${state}`;
  shown.textContent = text;
}

// The server refuses a token that comes unencrypted from another host, and it then has to be replaced.
function refuseTokens() {
  const url = `https://${location.hostname}:PORT/`;
  const text = `Tokens are accepted over TLS and on loopback addresses only. Open this page at the port of the request API: \`${url}\`, where PORT is \`api: port\` in the configuration of the launcher.`;
  element('token-entry').before(h('p', {id: 'token-refusal'}, prose(text)));
  element('token-entry').hidden = element('token-continue').hidden = true;
}

// Opens the dialog; returns the entered token, or null.
function enteredToken(problem) {
  const dialog = element('token-dialog');
  const input = element('token-input');
  element('token-problem').replaceChildren(...prose(problem));
  input.value = '';
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'continue' ? input.value.trim() : null);
      input.value = '';
    }, {once: true});
  });
}

// Learns what the token allows. Returns why it is not valid; '' if it is, or if there is none or no response.
async function identify() {
  try {
    await operator.identify();
  } catch (error) {
    if (error instanceof Unauthorized) return error.message;
    setTimeout(identify, IDENTIFY_INTERVAL);
  }
  trends.reset();
  refresh();
  return '';
}

async function askUntilValid(problem) {
  for (let refusal = problem; refusal;) {
    setToken(null);
    operator.client = null;
    setToken(await enteredToken(refusal));
    refusal = await identify();
  }
}

// Several calls may need a token at the same time.
let asking = null;
function askToken(problem) {
  asking ??= askUntilValid(problem).finally(() => { asking = null; });
  return asking;
}

// Escape keeps the words of the filter: by default browsers clear the field.
function leaveFilter(event) {
  if (!['ArrowDown', 'Enter', 'Escape'].includes(event.key)) return;
  event.preventDefault();
  if (event.key === 'Escape') view.search.blur();
  else view.table.moveTo(0, true);
}

element('token').addEventListener('click', () => {
  if (token() === null) {
    askToken('With a token of scope admin, this page holds, releases and deletes nodes, and builds and pauses images.');
    return;
  }
  setToken(null);
  location.reload();
});
document.addEventListener('log-toggled', () => detail.refresh());
document.addEventListener('keydown', (event) => {
  if (document.querySelector('dialog[open]')) return;
  const isTyping = event.target.matches('input, select, textarea');
  if (event.key === '/' && !isTyping && view?.search) {
    event.preventDefault();
    view.search.focus();
  } else if (event.target === view?.search) {
    leaveFilter(event);
  } else if (event.key === 'Escape' && !element('detail').hidden) {
    closeDetail();
  } else if (view?.table && element('detail').hidden && (event.target === document.body || event.target === element('main'))) {
    view.table.onKey(event, view.table.firstVisible - 1);
  }
});
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();  // its address is no view
  element('main').focus();
});
window.addEventListener('hashchange', onRouteChange);
setInterval(refreshAges, 1000);
setInterval(() => { if (!document.hidden) refresh(); }, UPDATE_INTERVAL);

function changed() {
  callRates.sample(records);
  update();
  announce();
}

if (!window.isSecureContext) refuseTokens();
showFrame(route().section);
document.addEventListener('token-needed', async (event) => {
  await askToken(event.detail.problem);
  event.detail.retry();
  detail.refresh();
});
identify().then((problem) => { if (problem) askToken(problem); });
new Connection(records, {showState: showConnection, changed, askToken}).run();
