// The builds of an image, their uploads, and the log of a build if this launcher's host has it.

import {Unauthorized, getJson, token} from './connection.js';
import {age, badge, h, link} from './format.js';

const POLL_INTERVAL = 2000;  // ms
const MAX_LENGTH = 256 * 1024;  // characters that are shown

// At most one log is open. It stays open when the list is rendered again.
const open = {build: null, element: null};

export function buildList(image) {
  return h('div', {}, image.builds.map((build) => h('div', {class: 'build'},
    h('div', {}, badge(build.state), h('span', {class: 'muted'}, 'for ', age(build.since)),
      h('span', {class: 'muted'}, [build.builder && `on ${build.builder}`, (build.formats ?? []).join(', ')].filter(Boolean).join(', '))),
    h('div', {}, h('span', {class: 'mono muted'}, build.id), logButton(image, build)),
    build.failure && h('p', {class: 'note bad'}, build.failure),
    h('ul', {}, (build.uploads ?? []).map((upload) => h('li', {}, link('providers', upload.provider), ' ', badge(upload.state), ' ',
      age(upload.since), ' ', h('span', {class: 'muted'}, [upload.format, upload.name].filter(Boolean).join(', ')),
      upload.failure && h('p', {class: 'note bad'}, upload.failure)))),
    open.build === build.id && open.element)));
}

function logButton(image, build) {
  const isOpen = open.build === build.id;
  return h('button', {type: 'button', class: 'quiet', 'aria-expanded': String(isOpen), onclick: (event) => {
    if (open.build === build.id) close();
    else show(image.id, build.id);
    event.target.blur();  // the list is not rendered while it has the focus
    document.dispatchEvent(new CustomEvent('log-toggled'));
  }}, isOpen ? 'Hide the log' : 'Show the log');
}

function close() { Object.assign(open, {build: null, element: null}); }

function show(image, build) {
  const element = h('pre', {class: 'log', tabindex: 0, role: 'log', 'aria-label': `Log of build ${build}`, 'aria-live': 'off'}, 'Reading…');
  Object.assign(open, {build, element});
  follow(image, build, element).catch((error) => {
    if (!(error instanceof Unauthorized)) return element.append(`\n${error instanceof TypeError ? 'No response from the server.' : error.message}`);
    element.textContent = 'A token is required.';
    const retry = () => { if (token() && open.element === element) show(image, build); };
    document.dispatchEvent(new CustomEvent('token-needed', {detail: {problem: error.message, retry}}));
  });
}

async function follow(image, build, element) {
  for (let from = 0, text = ''; open.element === element;) {
    const part = await getJson(`page/build-log?image=${encodeURIComponent(image)}&build=${encodeURIComponent(build)}&from=${from}`);
    if (part === null) {
      element.textContent = 'This host does not have the log. Read it on the builder.';
      return;
    }
    if (part.begin > from) text = part.begin > 0 ? '…' : '';
    from = part.end;
    if (part.text || text === '') {
      const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 24;
      text = (text + (part.text ?? '')).slice(-MAX_LENGTH);
      element.textContent = text || 'The log is empty.';
      if (isAtEnd) element.scrollTop = element.scrollHeight;
    }
    if (!part.going_on) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
  }
}
