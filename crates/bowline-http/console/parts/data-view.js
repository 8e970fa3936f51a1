// Payloads, failures and causes, for reading.

import { h } from '../dom.js';
import { size } from '../format.js';

/** @typedef {import('../types').Data} Data */
/** @typedef {import('../types').Failed} Failed */
/** @typedef {import('../types').Why} Why */

/** More of a value than this is shown as plain text: colours cost an element each. */
const COLOURED_MAX = 20000;

/** @param {unknown} value @param {string} pad @param {(string | HTMLElement)[]} out */
function paint(value, pad, out) {
  const span = (/** @type {string} */ tone, /** @type {unknown} */ it) =>
    h('span', { class: tone }, JSON.stringify(it));
  if (value === null || typeof value !== 'object') {
    out.push(span(typeof value === 'string' ? 's' : typeof value === 'number' ? 'n' : 'b', value));
    return;
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (!entries.length) return void out.push(isList ? '[]' : '{}');
  out.push(isList ? '[\n' : '{\n');
  entries.forEach(([name, inner], at) => {
    out.push(`${pad}  `);
    if (!isList) out.push(span('k', name), ': ');
    paint(inner, `${pad}  `, out);
    out.push(at + 1 < entries.length ? ',\n' : '\n');
  });
  out.push(pad, isList ? ']' : '}');
}

/** @param {unknown} value */
export function json(value) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  if (text.length > COLOURED_MAX) return h('pre', { tabindex: '0' }, text);
  /** @type {(string | HTMLElement)[]} */
  const out = [];
  paint(value, '', out);
  return h('pre', { tabindex: '0' }, out);
}

/**
 * @param {Data | undefined} data @param {string} [label] @param {() => void} [whole]
 * @returns {HTMLElement | null}
 */
export function dataView(data, label, whole) {
  if (!data) return null;
  const title = label && h('h3', null, `${label} `,
    h('span', { class: 'faint' }, `${data.format} · ${size(data.bytes)}`));
  if (data.encoding === 'omitted') {
    return h('div', { class: 'data' }, title, h('p', { class: 'faint' },
      `${size(data.bytes)} are not shown here. `,
      whole && h('button', { class: 'small', onclick: whole }, 'Show all of it')));
  }
  if (data.encoding === 'list') {
    const each = /** @type {Data[]} */ (data.value).map((one) => dataView(one));
    return h('div', { class: 'data' }, title, each);
  }
  const isText = data.encoding === 'text' || data.encoding === 'base64';
  return h('div', { class: 'data' }, title,
    isText ? h('pre', { tabindex: '0' }, String(data.value)) : json(data.value));
}

/** @param {Failed | undefined} failed @returns {HTMLElement | null} */
export function failureView(failed) {
  if (!failed) return null;
  return h('div', { class: 'data' },
    h('h3', null, 'Failure ', failed.kind && h('span', { class: 'chip bad' }, failed.kind)),
    h('pre', { tabindex: '0' }, failed.message, failed.trace ? `\n\n${failed.trace}` : ''),
    dataView(failed.details, 'Details'), failed.source && failureView(failed.source));
}

/** The whole chain, up to the first mover. @param {Why | undefined} why */
export function whyView(why) {
  if (!why) return null;
  const chain = [];
  for (let at = /** @type {Why | undefined} */ (why); at; at = at.because) {
    chain.push(h('li', null, h('span', { class: 'chip' }, at.code),
      at.by && h('span', null, `by ${at.by}`), at.reason && h('q', null, at.reason)));
  }
  return h('ul', { class: 'because' }, chain);
}
