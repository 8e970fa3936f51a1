// All runs: which ones stands in the address, and what changes is seen as it changes.

import { look, tell } from '../api.js';
import { empty, fill, h, icon, toast, trouble } from '../dom.js';
import { number, plural } from '../format.js';
import { live } from '../live.js';
import { RunList } from '../parts/run-list.js';
import { go, to, toRun } from '../router.js';

/** @typedef {import('../types').Route} Route */
/** @typedef {import('../types').RunSummary} RunSummary */
/** @typedef {import('../types').News} News */

const PAGE = 100;
/** Dialogs are fetched when the first one is wanted. */
const actions = () => import('../parts/actions.js');
/** What a filter may name, and what the API calls it. @type {Record<string, string>} */
const NAMES = {
  status: 'status', type: 'type', queue: 'queue', id: 'id', parent: 'parent',
  from: 'started_from', before: 'started_before', prefix: 'id_prefix',
};
const QUICK = [['', 'All'], ['open', 'Open'], ['cancelling', 'Cancelling'], ['parked', 'Parked'],
  ['failed,timed_out', 'Failed'], ['completed', 'Completed'], ['cancelled', 'Cancelled'],
  ['terminated', 'Terminated']];

/** The filter of an address as people write it. @param {URLSearchParams} query */
export function written(query) {
  const words = [];
  for (const [name, key] of Object.entries(NAMES)) {
    const value = query.get(key);
    if (value) words.push(name === 'prefix' ? value : `${name}:${value}`);
  }
  return [...words, ...query.getAll('search').map((pair) => `@${pair}`)].join(' ');
}

/** The filter that somebody wrote. @param {string} text */
export function read(text) {
  const query = new URLSearchParams();
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [name = '', ...rest] = word.split(':');
    const value = rest.join(':');
    if (!rest.length) query.set('id_prefix', word);
    else if (name.startsWith('@')) query.append('search', `${name.slice(1)}:${value}`);
    else if (NAMES[name] && value) query.set(NAMES[name], value);
    else {
      throw new Error(`There is no filter “${name}:”. Known: ${Object.keys(NAMES).join(', ')}, `
        + '@attribute:value; a word alone is the beginning of an id.');
    }
  }
  return query;
}

class RunsPage extends HTMLElement {
  /** @type {Route} */
  #route = { page: 'runs', ns: 'default', id: '', query: new URLSearchParams() };
  #list = /** @type {RunList} */ (document.createElement('bw-run-list'));
  #said = h('input', { type: 'search', 'aria-label': 'Filter',
    placeholder: 'order-4  status:open  type:checkout  @customer:acme', spellcheck: 'false',
    autocomplete: 'off', autocapitalize: 'off' });
  #quick = h('nav', { class: 'quick', 'aria-label': 'By status' });
  #wrong = h('div');
  #none = h('div', { class: 'panel', hidden: true });
  #count = h('span', { 'aria-live': 'polite' });
  #news = h('button', { class: 'small primary', hidden: true });
  #many = h('div', { class: 'bar-of-many', hidden: true });
  /** @type {string | undefined} */
  #next;
  #isLoading = false;
  #turn = 0;
  /** Newer runs that are not shown. @type {Map<string, RunSummary>} */
  #newer = new Map();
  #hear = (/** @type {Event} */ event) => this.#heard(/** @type {CustomEvent<News>} */ (event).detail);

  connectedCallback() {
    this.classList.add('page', 'full');
    const form = h('form', { class: 'filter', role: 'search', onsubmit: (/** @type {Event} */ e) => {
      e.preventDefault();
      this.#apply();
    } }, icon('search'), this.#said, h('kbd', { 'aria-hidden': 'true' }, '/'));
    fill(this, h('div', { class: 'head' }, h('h1', null, 'Runs'), form,
      h('button', { class: 'primary', onclick: () => this.#start() }, icon('plus'), 'Start')),
    this.#quick, h('div', { class: 'count-line' }, this.#count, this.#news), this.#wrong, this.#none,
    this.#list, this.#many);
    this.#said.addEventListener('search', () => !this.#said.value && this.#apply());
    this.#news.addEventListener('click', () => this.#reveal());
    this.#list.addEventListener('more', () => this.#more());
    this.#list.addEventListener('picked', () => this.#picked());
    live.addEventListener('news', this.#hear);
  }

  disconnectedCallback() {
    live.removeEventListener('news', this.#hear);
  }

  /** @param {Route} route */
  go(route) {
    this.#route = route;
    this.#list.ns = route.ns;
    if (document.activeElement !== this.#said) this.#said.value = written(route.query);
    const status = route.query.get('status') ?? '';
    fill(this.#quick, QUICK.map(([value, name]) => {
      const query = new URLSearchParams(route.query);
      if (value) query.set('status', value);
      else query.delete('status');
      return h('a', { href: `${to(route.ns, 'runs')}${query.size ? `?${query}` : ''}`,
        'aria-current': value === status ? 'true' : null }, name);
    }));
    this.#load();
  }

  #apply() {
    try {
      const query = read(this.#said.value);
      fill(this.#wrong);
      go(`${to(this.#route.ns, 'runs')}${query.size ? `?${query}` : ''}`);
    } catch (error) {
      fill(this.#wrong, trouble(error));
    }
  }

  /** What the API is asked for. */
  #query() {
    const query = this.#route.query;
    /** @type {import('../api.js').Query} */
    const asked = {};
    for (const name of new Set(query.keys())) asked[name] = query.getAll(name);
    return asked;
  }

  async #load() {
    const turn = ++this.#turn;
    this.#newer.clear();
    this.#news.hidden = true;
    this.#next = undefined;
    this.#isLoading = true;
    try {
      const query = this.#query();
      /** @type {import('../types').RunList} */
      const page = await look(this.#route.ns, 'runs', { ...query, limit: PAGE });
      if (turn !== this.#turn) return;
      fill(this.#wrong);
      this.#list.runs = page.runs;
      this.#list.at = -1;
      this.#next = page.next;
      this.#list.toTop();
      this.#shown();
      /** @type {import('../types').RunCount} */
      const { count, exact } = await look(this.#route.ns, 'count', query);
      if (turn !== this.#turn) return;
      fill(this.#count, exact ? plural(count, 'run') : `more than ${number(count)} runs`);
      this.dataset.ready = String(count);
    } catch (error) {
      if (turn === this.#turn) fill(this.#wrong, trouble(error, () => this.#load()));
    } finally {
      if (turn === this.#turn) this.#isLoading = false;
    }
  }

  async #more() {
    if (!this.#next || this.#isLoading) return;
    const turn = this.#turn;
    this.#isLoading = true;
    try {
      /** @type {import('../types').RunList} */
      const page = await look(this.#route.ns, 'runs',
        { ...this.#query(), limit: PAGE, cursor: this.#next });
      if (turn !== this.#turn) return;
      const known = new Set(this.#list.runs.map((run) => run.run));
      this.#list.runs.push(...page.runs.filter((run) => !known.has(run.run)));
      this.#next = page.next;
    } catch (error) {
      fill(this.#wrong, trouble(error, () => this.#more()));
      return;
    } finally {
      if (turn === this.#turn) this.#isLoading = false;
    }
    this.#list.draw();
  }

  #shown() {
    const is = this.#list.runs.length === 0 && !this.#next;
    this.#list.hidden = is;
    this.#list.style.display = is ? 'none' : '';
    this.#none.hidden = !is;
    if (is) {
      fill(this.#none, this.#route.query.size
        ? empty('search', 'No run is like that', 'Nothing in this namespace meets the filter.', '',
          h('a', { class: 'button', href: to(this.#route.ns, 'runs') }, 'Show all runs'))
        : empty('knot', 'Nothing has run here yet',
          'Start a run with the button above, from your program, or with an SDK. To see what it '
          + 'looks like:', 'bowline demo'));
    }
    this.#list.draw();
    this.#picked();
  }

  /** @param {News} news */
  #heard(news) {
    const runs = this.#list.runs;
    if (news.kind === 'reset') return void this.#load();
    if (news.kind === 'state') return;
    const id = news.kind === 'gone' ? news.run : news.run.run;
    const index = runs.findIndex((run) => run.run === id);
    if (news.kind === 'gone') {
      if (index >= 0) runs.splice(index, 1);
      return this.#shown();
    }
    if (index >= 0) {
      runs[index] = news.run;
      this.#list.draw();
    } else if (this.#isMeant(news.run)) {
      // News come in no order. What is older than what is loaded comes with its page.
      const last = runs.at(-1);
      if (this.#next && last && news.run.started_at < last.started_at) return;
      this.#newer.set(id, news.run);
      if (this.#list.isAtTop) this.#reveal();
      else {
        this.#news.hidden = false;
        fill(this.#news, `${plural(this.#newer.size, 'new run')} above`);
      }
    }
  }

  #reveal() {
    const fresh = [...this.#newer.values()];
    this.#newer.clear();
    this.#news.hidden = true;
    this.#list.runs.unshift(...fresh);
    this.#list.runs.sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
    if (!this.#next) fill(this.#count, plural(this.#list.runs.length, 'run'));
    if (this.#list.at >= 0) this.#list.at += fresh.length;
    this.#list.toTop();
    this.#shown();
  }

  /** Whether a new run belongs here; what cannot be told here does not. @param {RunSummary} run */
  #isMeant(run) {
    const query = this.#route.query;
    const status = query.get('status');
    const states = status ? status.split(',') : [];
    const isState = !states.length || states.includes(run.status)
      || (states.includes('open') && !run.closed_at) || (states.includes('closed') && run.closed_at)
      || (states.includes('parked') && run.parked);
    const is = (/** @type {string} */ name, /** @type {unknown} */ value) =>
      !query.has(name) || query.get(name) === value;
    return isState && is('type', run.type) && is('queue', run.queue) && is('id', run.id)
      && is('parent', run.parent?.run) && run.id.startsWith(query.get('id_prefix') ?? '')
      && !['search', 'started_from', 'started_before', 'order'].some((name) => query.has(name));
  }

  #chosen() {
    return this.#list.runs.filter((run) => this.#list.picked.has(run.run));
  }

  #picked() {
    const chosen = this.#chosen();
    this.#many.hidden = chosen.length === 0;
    this.#many.style.display = chosen.length ? '' : 'none';
    const clear = () => {
      this.#list.picked.clear();
      this.#list.draw();
      this.#picked();
    };
    const parked = chosen.filter((run) => run.parked);
    fill(this.#many, h('strong', null, `${plural(chosen.length, 'run')} selected`),
      h('span', { class: 'grow' }),
      h('button', { class: 'quiet', onclick: clear }, 'Clear'),
      parked.length > 0 && h('button', { onclick: () => this.#retry(parked) },
        `Retry ${plural(parked.length, 'parked run')}`),
      h('button', { class: 'primary',
        onclick: () => this.#cancel(chosen, clear) }, 'Cancel …'));
  }

  async #start() {
    (await actions()).start(this.#route.ns);
  }

  /** @param {RunSummary[]} runs @param {() => void} done */
  async #cancel(runs, done) {
    const { cancel, cancelMany } = await actions();
    const [one] = runs;
    if (one && runs.length === 1) cancel(this.#route.ns, one);
    else if (one) cancelMany(this.#route.ns, runs, done);
  }

  /** @param {RunSummary[]} parked */
  async #retry(parked) {
    try {
      for (const run of parked) {
        await tell(this.#route.ns, `runs/${encodeURIComponent(`@${run.run}`)}/retry`, undefined);
      }
      toast(`${plural(parked.length, 'run')} tried again.`);
    } catch (error) {
      fill(this.#wrong, trouble(error));
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const list = this.#list;
    const at = list.runs[list.at];
    switch (event.key) {
      case '/':
        this.#said.focus();
        this.#said.select();
        return true;
      case 'j':
        list.move(1);
        return true;
      case 'k':
        list.move(-1);
        return true;
      case 'x':
        if (at) list.pick(list.at, !list.picked.has(at.run));
        return true;
      case 'c': {
        const chosen = this.#chosen();
        this.#cancel(chosen.length || !at ? chosen : [at], () => list.draw());
        return true;
      }
      case 'Enter':
        if (at && document.activeElement?.tagName !== 'A') go(toRun(this.#route.ns, at));
        return true;
      case 'n':
        this.#start();
        return true;
      default:
        return false;
    }
  }
}
customElements.define('bw-runs', RunsPage);
