// What a run waits for, and how each of it can be cancelled alone.

import { badge, empty, h, when } from '../dom.js';
import { plural } from '../format.js';
import { to } from '../router.js';
import { cancelOne } from './actions.js';
import { dataView, whyView } from './data-view.js';

/** @typedef {import('../types').Run} Run */
/** @typedef {import('../types').PendingActivity} PendingActivity */

/** @param {string} title @param {string[]} names @param {HTMLElement[]} rows @param {number} open */
function table(title, names, rows, open) {
  if (!rows.length) return null;
  return h('div', null, h('header', null, h('h2', null, title),
    open > rows.length && h('span', { class: 'faint' }, `the first ${rows.length} of ${open}`)),
  h('table', { class: 'cards' }, h('thead', null, h('tr', null,
    names.map((name) => h('th', { scope: 'col' }, name || h('span', { 'aria-label': 'Actions' }))))),
  h('tbody', null, rows)));
}

/** @param {PendingActivity} one */
function doing(one) {
  if (one.state === 'running') {
    return [badge('running', one.cancel ? 'told to stop' : 'running'), ' on ', one.worker ?? '?', ' ',
      when(one.started_at)];
  }
  return [badge('silent', one.state), one.due && [' may begin ', when(one.due)]];
}

/** @param {string} ns @param {Run} run */
export function pendingView(ns, run) {
  const cell = (/** @type {string} */ name, /** @type {any[]} */ ...kids) =>
    h('td', { 'data-name': name }, h('div', null, kids.flat(3)));
  const stop = (/** @type {string} */ kind, /** @type {number} */ target, /** @type {string} */ name) =>
    h('td', { class: 'tight' }, run.rules === 'native' && h('button', { class: 'small',
      'aria-label': `Cancel ${name}`,
      onclick: () => cancelOne(ns, run, kind, target, name) }, 'Cancel …'));
  const activities = run.activities.map((one) => h('tr', null,
    cell('Activity', h('strong', null, one.name), h('span', { class: 'faint' }, ` #${one.number}`),
      one.detached && h('span', { class: 'chip' }, 'detached')),
    cell('State', doing(one)), cell('Attempt', String(one.attempt)), cell('Queue', one.queue),
    cell('Last', one.heartbeat && dataView(one.heartbeat, 'Progress'),
      one.last_failure && h('p', null, one.last_failure.message), whyView(one.cancel)),
    stop('activities', one.number, `${one.name} #${one.number}`)));
  const timers = run.timers.map((one) => h('tr', null, cell('Timer', `#${one.number} `,
    h('span', { class: 'faint' }, one.id)), cell('Rings', when(one.due)),
  stop('timers', one.number, `timer #${one.number}`)));
  const children = run.children.map((one) => h('tr', null,
    cell('Child', h('a', { href: to(ns, 'runs', one.id) }, one.id),
      h('span', { class: 'faint' }, ` #${one.number} ${one.type}`)),
    cell('State', badge(one.cancelled ? 'cancelling' : one.started ? 'running' : 'draining',
      one.started ? undefined : 'asked for')),
    cell('When this run closes', one.detached ? 'it goes on' : one.on_close),
    stop('children', one.number, one.id)));
  const all = [
    table('Activities', ['Activity', 'State', 'Attempt', 'Queue', 'Last word', ''], activities,
      run.activities_open),
    table('Children', ['Child', 'State', 'When this run closes', ''], children, run.children_open),
    table('Timers', ['Timer', 'Rings', ''], timers, run.timers_open)].filter(Boolean);
  if (run.unread) {
    all.push(h('p', { class: 'body' }, `${plural(run.unread, 'message')} not read yet.`));
  }
  if (all.length) return h('div', null, all);
  return run.closed_at ? empty('check', 'Nothing is pending', 'The run is over.')
    : empty('clock', 'Nothing is pending', 'Its code has the turn, or waits for a signal.',
      `bowline signal ${run.id} <name>`);
}
