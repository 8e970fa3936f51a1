// Where the server asks who you are.

import { logIn } from '../api.js';
import { field, fill, h, icon, trouble } from '../dom.js';

/** Takes the place of everything else until somebody is let in. */
export function askWho() {
  if (document.querySelector('.log-in')) return;
  const wrong = h('div');
  const credential = h('input', { name: 'credential', type: 'password', required: true,
    autocomplete: 'current-password', spellcheck: 'false', placeholder: 'bwl_…' });
  const go = h('button', { class: 'primary', type: 'submit' }, 'Log in');
  const form = h('form', { class: 'panel' }, h('img', { src: 'console/icon.svg', alt: '' }),
    h('h1', null, 'Who are you?'),
    field('API key or token', credential, 'Kept by this browser until it is closed, and sent to '
      + 'this server only.'), wrong, h('footer', null, go),
    h('p', { class: 'faint' }, 'Whoever runs this server makes keys with'),
    h('pre', { class: 'command' }, 'bowline key new NAME --allow NAMESPACE:read --keys keys.json'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await logIn(credential.value);
      location.reload();
    } catch (error) {
      fill(wrong, trouble(error));
      go.disabled = false;
      credential.select();
    }
  });
  const main = h('main', { class: 'log-in' }, form);
  fill(document.body, main, h('div', { id: 'toasts', 'aria-live': 'polite' }));
  credential.focus();
}

/** Who is logged in, and the way out. @param {string} who @param {() => void} [leave] */
export const whoView = (who, leave) => h('span', { class: 'who', title: who }, icon('key'),
  h('span', null, who), leave && h('button', { class: 'quiet small', onclick: leave }, 'Log out'));
