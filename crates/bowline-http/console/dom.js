// Elements, icons, badges, times that tick, dialogs and messages. Text only ever becomes text.

import { STATES, ago, clock, now, span, words } from './format.js';

/** @typedef {Node | string | number | null | undefined | false} Kid */

/**
 * An element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any> | null} [props] `on…` are listeners, `class` and the rest attributes
 * @param {...(Kid | Kid[])} kids
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...kids) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') /** @type {any} */ (element).value = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  put(element, kids);
  return element;
}

/** @param {Element} element @param {any[]} kids */
function put(element, kids) {
  for (const kid of kids.flat(5)) {
    if (kid !== null && kid !== undefined && kid !== false) {
      element.append(typeof kid === 'number' ? String(kid) : kid);
    }
  }
}

/** Everything inside is this now. @param {Element} element @param {...(Kid | Kid[])} kids */
export function fill(element, ...kids) {
  element.replaceChildren();
  put(element, kids);
}

/** Drawn on 16 by 16, with strokes. @type {Record<string, string>} */
const ICONS = {
  play: 'M5 3.5v9l7-4.5z',
  half: 'M8 2a6 6 0 1 0 6 6M8 5v3.5l2 1.5',
  pause: 'M5.5 3v10M10.5 3v10',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  ban: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M4 12l8-8',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3.2l2.2 1.3',
  stop: 'M4 4h8v8H4z',
  turn: 'M3 8a5 5 0 0 1 9-3l1 1M13 2.5V6H9.5M13 8a5 5 0 0 1-9 3',
  ask: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9 8 10M8 12.6v.4',
  warn: 'M8 2.5l6 11H2zM8 6.5v3M8 11.6v.3',
  key: 'M10 2.5a3.5 3.5 0 1 1-3 5.3L2.5 12.3V14h2v-1.5H6V11h1.2M10.8 5.2v.1',
  list: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  worker: 'M2.5 4.5h11v6h-11zM6 13h4M8 10.5V13',
  queue: 'M3 3.5h10M3 8h7M3 12.5h4',
  ghost: 'M3.5 13V7.5a4.5 4.5 0 0 1 9 0V13l-2.2-1.6L8 13l-2.3-1.6zM6.3 7v.6M9.7 7v.6',
  space: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4L14 14',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2'
    + 'M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  back: 'M9.5 3.5L5 8l4.5 4.5',
  keys: 'M2 4.5h12v7H2zM4.5 7h.1M8 7h.1M11.5 7h.1M5.5 9.5h5',
  knot: 'M2 11c4.5 2 9 .5 9-3.4C11 5 9.400 3.800 7.800 3.800S5 5 5 6.600c0 2.900 4 5.400 9 1.400',
};

/** @param {string} name @param {string} [extra] */
export function icon(name, extra = '') {
  const SVG = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', `icon ${extra}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name] ?? '');
  svg.append(path);
  return svg;
}

/** Sign, word and colour of a state. @param {string} state @param {string} [word] */
export function badge(state, word) {
  const [tone, sign] = STATES[state] ?? ['calm', 'more'];
  return h('span', { class: `badge ${tone}`, 'data-state': state }, icon(sign),
    word ?? words(state));
}

/** How long ago; it counts on. @param {string | undefined} moment */
export function when(moment) {
  if (!moment) return h('span', { class: 'faint' }, '–');
  return h('time', { datetime: moment, title: new Date(moment).toLocaleString(), 'data-ago': '' },
    ago(moment));
}

/** A span that grows. @param {string} since */
export function growing(since) {
  return h('time', { datetime: since, 'data-span': '' }, span(now() - Date.parse(since)));
}

/** Every second, while anybody looks. */
export function tick() {
  if (document.hidden) return;
  for (const time of document.querySelectorAll('time[data-ago], time[data-span]')) {
    const at = time.getAttribute('datetime') ?? '';
    const text = time.hasAttribute('data-ago') ? ago(at)
      : span(Math.floor((now() - Date.parse(at)) / 1000) * 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}

/**
 * A page without anything: what would be here, and the command that brings it.
 * @param {string} sign @param {string} title @param {string} text @param {string} [command]
 * @param {...Kid} kids
 */
export function empty(sign, title, text, command, ...kids) {
  return h('div', { class: 'empty' }, icon(sign, 'big'), h('h2', null, title), h('p', null, text),
    command && h('pre', { class: 'command' }, command), kids);
}

/** What went wrong, and what to do. @param {unknown} error @param {() => void} [again] */
export function trouble(error, again) {
  const said = /** @type {any} */ (error)?.problem;
  return h('div', { class: 'trouble', role: 'alert' }, icon('warn'),
    h('div', null,
      h('strong', null, said ? said.detail : String(/** @type {any} */ (error)?.message ?? error)),
      said && h('p', null, said.todo),
      said && h('p', { class: 'faint mono' }, `${said.code} · request ${said.request_id}`)),
    again && h('button', { class: 'small', onclick: again }, 'Try again'));
}

/** A short message that goes by itself. @param {string} text @param {string} [tone] */
export function toast(text, tone = 'calm') {
  const line = h('div', { class: `toast ${tone}`, role: 'status' }, text);
  document.getElementById('toasts')?.append(line);
  setTimeout(() => line.remove(), 6000);
}

/** @param {string} label @param {HTMLElement} control @param {string} [hint] */
export function field(label, control, hint) {
  return h('label', { class: 'field' }, h('span', null, label), control,
    hint && h('small', null, hint));
}

/**
 * A dialog that asks. `send` is called when the form is sent, and closes it unless it throws or
 * answers false; what it throws is shown.
 * @param {{ title: string, body: Kid[], verb: string, tone?: string,
 *   send: (form: FormData, dialog: HTMLDialogElement) => Promise<unknown> }} about
 */
export function ask({ title, body, verb, tone = 'primary', send }) {
  const wrong = h('div');
  const go = h('button', { class: tone, type: 'submit' }, verb);
  const leave = h('button', { type: 'button', onclick: () => dialog.close() }, 'Leave it');
  const form = h('form', { method: 'dialog' }, h('h2', null, title), body, wrong,
    h('footer', null, leave, go));
  const dialog = h('dialog', { class: 'ask', 'aria-label': title }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      if ((await send(new FormData(form), dialog)) !== false) dialog.close();
    } catch (error) {
      fill(wrong, trouble(error));
    }
    go.disabled = false;
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A fact with its name. @param {string} name @param {...Kid} value */
export const fact = (name, ...value) =>
  h('div', { class: 'fact' }, h('dt', null, name), h('dd', null, value));

export { clock };
