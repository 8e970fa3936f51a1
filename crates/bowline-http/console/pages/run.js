// One run: what it does, what it has done, what it waits for, and what becomes of it.

import { exact, look } from '../api.js';
import { badge, fact, fill, growing, h, icon, toast, trouble, when } from '../dom.js';
import { number, plural, short, size, span } from '../format.js';
import { inTurn, onNews } from '../live.js';
import * as act from '../parts/actions.js';
import { CancelTree } from '../parts/cancel-tree.js';
import { dataView, failureView, whyView } from '../parts/data-view.js';
import { TimeLine } from '../parts/time-line.js';
import { to } from '../router.js';
import { historyView } from '../parts/history.js';
import { pendingView } from '../parts/pending.js';

/** @typedef {import('../types').Route} Route */
/** @typedef {import('../types').Run} Run */
/** @typedef {import('../types').HistoryEvent} HistoryEvent */

/** A time line is made of so many events at most: the newest. */
const EVENTS_MAX = 2000;

class RunPage extends HTMLElement {
  /** @type {Route} */
  #route = { page: 'run', ns: 'default', id: '', query: new URLSearchParams() };
  /** @type {Run | null} */
  #run = null;
  /** Every event that is known, by its number. @type {Map<number, HistoryEvent>} */
  #events = new Map();
  #head = h('div', { class: 'head' });
  #notes = h('div');
  #facts = h('dl', { class: 'panel facts' });
  #tabs = h('nav', { class: 'tabs', 'aria-label': 'About this run' });
  #wrong = h('div');
  #body = h('section', { class: 'panel' });
  #line = /** @type {TimeLine} */ (document.createElement('bw-time-line'));
  #tree = /** @type {CancelTree} */ (document.createElement('bw-cancel-tree'));
  #history = h('div');
  #shown = '';
  #timer = 0;

  connectedCallback() {
    this.classList.add('page');
    fill(this, this.#head, this.#wrong, this.#notes, this.#facts, this.#tabs, this.#body);
    onNews(this, (news) => news.kind === 'reset' || (news.kind === 'run'
      && (news.run.run === this.#run?.run || news.run.parent?.run === this.#run?.run)
      ), () => this.#load());
    this.#timer = window.setInterval(() => !document.hidden && this.#line.grow(), 1000);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }

  /** @param {Route} route */
  go(route) {
    const same = route.id === this.#route.id && route.ns === this.#route.ns
      && route.query.get('run') === this.#route.query.get('run');
    this.#route = route;
    this.#tree.ns = route.ns;
    if (same && this.#run) return this.#draw();
    this.#run = null;
    this.#events.clear();
    this.#shown = '';
    fill(this.#head, h('h1', null, route.id));
    this.#load();
  }

  #load = inTurn(async () => {
    const { ns, id, query } = this.#route;
    const path = `runs/${encodeURIComponent(id)}`;
    try {
      /** @type {Run} */
      const run = await look(ns, path, { run: query.get('run') ?? undefined });
      const last = Math.max(0, ...this.#events.keys());
      if (this.#route.id !== id) return;
      await this.#read(run, last);
      this.#run = run;
      fill(this.#wrong);
      this.#draw();
    } catch (error) {
      fill(this.#wrong, trouble(error, () => this.#load()));
    }
  });

  /** Events that are not known yet; of a very long history the newest. @param {Run} run @param {number} last */
  async #read(run, last) {
    let from = Math.max(last + 1, run.events - EVENTS_MAX + 1);
    while (from <= run.events) {
      /** @type {import('../types').HistoryList} */
      const page = await look(this.#route.ns, `${exact(run.run)}/history`, { from, limit: 500 });
      for (const event of page.events) this.#events.set(event.id, event);
      if (!page.next || !page.events.length) break;
      from = page.next;
    }
  }

  #draw() {
    const run = this.#run;
    if (!run) return;
    this.dataset.state = run.state;
    this.#drawHead(run);
    this.#drawNotes(run);
    const { ns } = this.#route;
    const link = (/** @type {string} */ id) =>
      h('a', { class: 'mono', href: to(ns, 'runs', `@${id}`, { run: id }) }, short(id));
    fill(this.#facts, fact('Type', run.type), fact('Queue', run.queue),
      fact('Started', when(run.started_at)),
      fact('Took', run.closed_at ? span(run.took_ms) : growing(run.started_at)),
      fact('Run', h('span', { class: 'mono', title: run.run }, short(run.run))),
      fact('Runs by', run.rules === 'native' ? 'this program’s code' : 'workers of an SDK'),
      run.started_by && fact('Started by', run.started_by),
      run.parent && fact('Parent', link(run.parent.run)),
      run.link > 1 && fact('Chain', `run ${run.link}, first `, link(run.first_run)),
      run.successor && fact('Goes on as', link(run.successor)),
      fact('History', `${plural(run.events, 'event')}, ${size(run.history_bytes)}`),
      ...Object.entries(run.search ?? {}).map(([name, value]) => fact(name, String(value))));
    this.#drawTabs(run);
  }

  /** @param {Run} run */
  #drawHead(run) {
    const { ns } = this.#route;
    const isOpen = !run.closed_at;
    const menu = h('div', { hidden: true },
      [['Signal …', () => act.signal(ns, run)], ['Query …', () => act.query(ns, run)],
        ['Update …', () => act.update(ns, run)], ['Start another …', () => act.start(ns, run)],
        ['Terminate …', () => act.terminate(ns, run)]].map(([name, on]) =>
        h('button', { onclick: on }, String(name))));
    const more = h('button', { 'aria-label': 'More actions', 'aria-haspopup': 'true',
      'aria-expanded': 'false', onclick: () => {
        menu.hidden = !menu.hidden;
        more.setAttribute('aria-expanded', String(!menu.hidden));
        const close = () => {
          menu.hidden = true;
          more.setAttribute('aria-expanded', 'false');
        };
        if (!menu.hidden) setTimeout(() => addEventListener('click', close, { once: true }));
      } }, icon('more'));
    if (this.#head.querySelector('.menu > div:not([hidden])')) return;
    fill(this.#head, h('h1', null, run.id), badge(run.state), h('div', { class: 'actions' },
      run.parked && h('button', { onclick: () => act.retry(ns, run).catch(this.#told) },
        icon('turn'), 'Retry'),
      isOpen && h('button', { class: 'primary cancel', onclick: () => act.cancel(ns, run) },
        icon('ban'), run.cancel ? 'Cancel again …' : 'Cancel …'),
      h('div', { class: 'menu' }, more, menu)));
  }

  #told = (/** @type {Error} */ error) => toast(error.message, 'bad');

  /** @param {Run} run */
  #drawNotes(run) {
    const notes = [];
    if (run.parked) {
      const { reason, failures, tries, since, next } = run.parked;
      notes.push(h('div', { class: 'note park' }, icon('pause'), h('div', null,
        h('strong', null, 'Parked: its code cannot go on'), h('p', null, reason),
        h('p', { class: 'faint' }, `failed ${plural(failures, 'time')} in a row, tried by `
          + `${plural(tries, 'process', 'processes')}, since `, when(since),
        next && [' · tried again ', when(next)],
        ' · deploy code that can go on, or retry.'))));
    }
    if (run.cancel && !run.closed_at) {
      const first = run.receipts?.[0];
      notes.push(h('div', { class: 'note wait' }, icon('half'), h('div', { class: 'grow' },
        h('strong', null, run.cancel.decided_at ? 'Cancelling: it cleans up'
          : 'Cancelling: it is asked, and has not looked yet'),
        whyView(run.cancel.why), h('p', { class: 'faint' }, 'asked ', when(run.cancel.requested_at))),
      first && h('a', { class: 'button', href: to(this.#route.ns, 'receipts', first.id) },
        'Receipt')));
    }
    if (run.ended?.failure || (run.ended?.why && run.closed_at)) {
      notes.push(h('div', { class: `note ${run.ended.failure ? 'bad' : ''}` },
        icon(run.ended.failure ? 'cross' : 'ban'), h('div', { class: 'grow' },
          h('strong', null, run.ended.failure ? run.ended.failure.message
            : `It is ${run.ended.status}`), whyView(run.ended.why))));
    }
    fill(this.#notes, notes);
    this.#notes.hidden = !notes.length;
  }

  /** @param {Run} run */
  #drawTabs(run) {
    const { ns, id, query } = this.#route;
    const pending = run.activities_open + run.timers_open + run.children_open;
    const tab = query.get('tab') ?? 'timeline';
    const all = [['timeline', 'Timeline', ''], ['history', 'History', number(run.events)],
      ['pending', 'Pending', number(pending)], ['data', 'Data', ''],
      ['tree', 'Cancel tree', run.receipts?.length ? number(run.receipts.length) : '']];
    fill(this.#tabs, all.map(([name, text, count]) => h('a', {
      href: to(ns, 'runs', id, { run: query.get('run') ?? undefined, tab: name }),
      'aria-current': name === tab ? 'page' : null }, text ?? '', count && h('small', null, count))));
    const events = [...this.#events.values()].sort((a, b) => a.id - b.id);
    const changed = this.#shown !== tab;
    this.#shown = tab;
    if (tab === 'history') {
      if (changed) this.#history = h('div');
      historyView(this.#history, ns, run, events);
      if (changed) fill(this.#body, this.#history);
    } else if (tab === 'pending') fill(this.#body, pendingView(ns, run));
    else if (tab === 'data') this.#drawData(run);
    else if (tab === 'tree') this.#drawTree(run, changed);
    else {
      if (changed) fill(this.#body, this.#line);
      this.#line.show(run, events, ns);
    }
  }

  /** @param {Run} run */
  #drawData(run) {
    const memo = Object.entries(run.memo ?? {}).map(([name, data]) => dataView(data, `Memo ${name}`));
    const parts = [dataView(run.input, 'Input'), dataView(run.ended?.result, 'Result'),
      failureView(run.ended?.failure), ...memo].filter(Boolean);
    fill(this.#body, h('div', { class: 'body event-data' }, parts.length ? parts
      : h('p', { class: 'faint' }, 'It was started without a value, and has left none.')));
  }

  /** @param {Run} run @param {boolean} changed */
  async #drawTree(run, changed) {
    const { ns } = this.#route;
    const receipts = (run.receipts ?? []).map((one) => h('li', null, icon('half'),
      h('a', { href: to(ns, 'receipts', one.id) }, `Receipt ${short(one.id)}`),
      when(one.requested_at), one.by && `by ${one.by}`, one.reason && h('q', null, one.reason)));
    const list = h('ul', { class: 'awaited' }, receipts);
    if (changed) fill(this.#body, receipts.length > 0 && list, this.#tree);
    try {
      /** @type {import('../types').RunTree} */
      const tree = await look(ns, `${exact(run.run)}/tree`);
      this.#tree.show(tree.runs);
    } catch (error) {
      fill(this.#wrong, trouble(error));
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const run = this.#run;
    if (!run || event.key !== 'c' || run.closed_at) return false;
    act.cancel(this.#route.ns, run);
    return true;
  }
}
customElements.define('bw-run', RunPage);
