// A dialog that asks before an action, performs it, and shows why it failed.

import {h} from './format.js';

// Returns whether the action was performed.
export function confirmed({label, title, text, reason, isHarmful, perform}) {
  const input = reason && h('input', {id: 'action-reason', maxlength: 200, autocomplete: 'off'});
  const problem = h('p', {class: 'note bad', role: 'alert', hidden: true});
  const button = h('button', {type: 'submit', class: isHarmful ? 'harmful-button' : 'main-button'}, label);
  const cancel = h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
  const form = h('form', {method: 'dialog'}, h('h2', {id: 'action-title'}, title), h('p', {}, text),
                 input && h('label', {for: 'action-reason'}, reason), input, problem, h('div', {class: 'buttons'}, button, cancel));
  const dialog = h('dialog', {class: 'action', 'aria-labelledby': 'action-title'}, form);
  let isDone = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      await perform(input ? input.value.trim() : undefined);
      isDone = true;
      dialog.close();
    } catch (error) {
      problem.textContent = error instanceof TypeError ? 'No response from the server: it is unknown whether this has been done.' : error.message;
      problem.hidden = false;
    }
    button.disabled = false;
  });
  document.body.append(dialog);
  dialog.showModal();
  if (!input) cancel.focus();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(isDone);
    }, {once: true});
  });
}
