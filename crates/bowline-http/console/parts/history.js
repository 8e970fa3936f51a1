// What has happened to a run, event by event, newest first; opened ones show their payloads.

import { exact, look } from '../api.js';
import { fill, h, toast } from '../dom.js';
import { clock, span } from '../format.js';
import { to } from '../router.js';
import { dataView, failureView, json, whyView } from './data-view.js';

/** @typedef {import('../types').HistoryEvent} HistoryEvent */

/** So many are drawn at once. */
const STEP = 200;

/** @param {string} kind */
function toneOf(kind) {
  if (/Failed$|TimedOut$|Terminated$/.test(kind)) return 'bad';
  if (/Cancel/.test(kind)) return 'wait';
  if (/Completed$|Fired$/.test(kind)) return 'good';
  if (/Signal|Update/.test(kind)) return 'park';
  return /^Turn/.test(kind) ? 'calm' : 'run';
}

/** @param {string} ns @param {string} run @param {HistoryEvent} event */
function inside(ns, run, event) {
  const whole = async () => {
    try {
      /** @type {import('../types').HistoryList} */
      const page = await look(ns, `${exact(run)}/history`,
        { from: event.id, limit: 1, payloads: 'full' });
      if (page.events[0]) fill(box, inside(ns, run, page.events[0]));
    } catch (error) {
      toast(/** @type {Error} */ (error).message, 'bad');
    }
  };
  const other = event.other_run && h('p', null, 'The other run: ',
    h('a', { class: 'mono', href: to(ns, 'runs', `@${event.other_run}`, { run: event.other_run }) },
      String(event.more?.id ?? event.other_run)));
  const more = event.more && Object.keys(event.more).length > 0;
  const box = h('div', { class: 'inside' },
    h('p', null, event.words, h('span', { class: 'faint' }, ` · ${clock(event.time)}`,
      event.worker && ` · ${event.worker}`, event.attempt && ` · attempt ${event.attempt}`)),
    dataView(event.data, 'Value', whole), failureView(event.failure), whyView(event.why), other,
    (event.notes ?? []).map((note) => h('p', { class: 'faint' }, note)),
    more && h('div', { class: 'data' }, h('h3', null, 'More'), json(event.more)));
  return box;
}

/** @param {string} ns @param {string} run @param {HistoryEvent} event */
function line(ns, run, event) {
  const details = h('details', { class: 'event', 'data-event': event.id },
    h('summary', null, h('span', { class: 'faint mono' }, `#${event.id}`),
      h('span', { class: 'faint at', title: clock(event.time) }, `+${span(event.since_start_ms)}`),
      h('span', { class: `kind t-${toneOf(event.kind)}` }, event.kind),
      h('span', { class: 'said' }, event.words)));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(inside(ns, run, event));
  });
  return details;
}

/**
 * Brings the list up to date: what is open stays open.
 * @param {HTMLElement} box @param {string} ns @param {import('../types').Run} run
 * @param {HistoryEvent[]} events
 */
export function historyView(box, ns, run, events) {
  const newest = Number(/** @type {HTMLElement | null} */ (box.querySelector('.event'))?.dataset.event ?? 0);
  const fresh = events.filter((event) => event.id > newest).reverse();
  if (newest) return void box.prepend(...fresh.map((event) => line(ns, run.run, event)));
  const add = (/** @type {number} */ from) => {
    box.append(...fresh.slice(from, from + STEP).map((event) => line(ns, run.run, event)));
    if (fresh.length > from + STEP) {
      const more = h('div', { class: 'body' }, h('button', { onclick: () => {
        more.remove();
        add(from + STEP);
      } }, `Show ${Math.min(STEP, fresh.length - from - STEP)} older ones`));
      box.append(more);
    }
  };
  add(0);
  if (events[0] && events[0].id > 1) {
    box.append(h('p', { class: 'body faint' }, `The first ${events[0].id - 1} events are not shown: `
      + 'read them with `bowline show` or over the API.'));
  }
}
