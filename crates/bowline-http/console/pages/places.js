// Workers, queues, orphans and namespaces: each a table that stays up to date.

import { look, namespaces } from '../api.js';
import { badge, empty, fill, h, icon, trouble, when } from '../dom.js';
import { number, span } from '../format.js';
import { onNews } from '../live.js';
import { configure, drain } from '../parts/actions.js';
import { CancelTree } from '../parts/cancel-tree.js';
import { to } from '../router.js';

/** @typedef {import('../types').Route} Route */
/** @typedef {import('../types').WorkerSummary} WorkerSummary */

/** What changes without any run's change is read again so often, while somebody looks. */
const AGAIN = 15000;

/** @param {string} name @param {...any} kids */
const cell = (name, ...kids) => h('td', { 'data-name': name }, h('div', null, kids.flat(3)));

/** @param {string[]} names @param {HTMLElement[]} rows @param {boolean} [truncated] */
const table = (names, rows, truncated) => h('section', { class: 'panel' },
  h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': names[0] },
    h('table', { class: 'cards' },
    h('thead', null, h('tr', null, names.map((name) => h('th', { scope: 'col' },
      name || h('span', { 'aria-label': 'Actions' }))))), h('tbody', null, rows))),
  truncated && h('p', { class: 'body faint' }, 'There are more than are shown.'));

/** How much of something is taken. @param {number} taken @param {number} all */
function meter(taken, all) {
  const bar = h('i');
  bar.style.setProperty('--part', `${all ? Math.min(100, (taken / all) * 100) : 0}%`);
  return h('span', { class: `meter${taken >= all ? ' full' : ''}` }, bar, `${taken} of ${all}`);
}

class Place extends HTMLElement {
  title = '';
  about = '';
  /** @type {Route} */
  route = { page: '', ns: 'default', id: '', query: new URLSearchParams() };
  #wrong = h('div');
  #box = h('div');
  #timer = 0;

  connectedCallback() {
    this.classList.add('page');
    fill(this, h('div', { class: 'head' }, h('h1', null, this.title),
      h('p', { class: 'faint' }, this.about)), this.#wrong, this.#box);
    onNews(this, () => true, () => this.load(), 2000);
    this.#timer = window.setInterval(() => !document.hidden && this.load(), AGAIN);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }

  /** @param {Route} route */
  go(route) {
    this.route = route;
    this.load();
  }

  async load() {
    try {
      const shown = await this.draw(this.route.ns);
      fill(this.#wrong);
      fill(this.#box, shown);
      this.dataset.ready = 'true';
    } catch (error) {
      fill(this.#wrong, trouble(error, () => this.load()));
    }
  }

  /** @param {string} _ns @returns {Promise<HTMLElement>} */
  async draw(_ns) {
    return h('div');
  }
}

class WorkersPage extends Place {
  title = 'Workers';
  about = 'Processes that do the work.';

  /** @param {string} ns */
  async draw(ns) {
    /** @type {import('../types').WorkerList} */
    const { workers, truncated } = await look(ns, 'workers');
    if (!workers.length) {
      return empty('worker', 'Nobody works here', 'A program that opens the store works in it; a '
        + 'worker of an SDK connects to the server.', 'bowline serve --store orders.db');
    }
    const worst = ['silent', 'draining', 'working'];
    workers.sort((a, b) => worst.indexOf(a.state) - worst.indexOf(b.state));
    return table(['Worker', 'State', 'Seen', 'Where', 'Queues', ''],
      workers.map((worker) => this.#row(ns, worker)), truncated);
  }

  /** @param {string} ns @param {WorkerSummary} worker */
  #row(ns, worker) {
    const again = () => this.load();
    const queues = worker.queues.map((queue) => h('div', null, queue.name, ' ',
      queue.slots !== undefined && meter(queue.taken ?? 0, queue.slots),
      queue.per_second && h('span', { class: 'faint' }, ` ${queue.per_second} per second`)));
    return h('tr', null, cell('Worker', h('strong', null, worker.identity),
      worker.here && [' ', h('span', { class: 'chip' }, 'this process')]),
    cell('State', badge(worker.state)), cell('Seen', when(worker.seen_at)),
    cell('Where', worker.kind === 'remote' ? 'SDK' : 'member', ' ',
      worker.host, worker.pid && h('span', { class: 'faint' }, ` pid ${worker.pid}`)),
    cell('Queues', queues.length ? queues : h('span', { class: 'faint' }, 'none')),
    h('td', { class: 'tight' }, h('div', null,
      worker.queues.some((queue) => queue.slots !== undefined) && h('button', { class: 'small',
        onclick: () => configure(ns, worker, again) }, 'Configure …'), ' ',
      worker.state === 'working' && h('button', { class: 'small',
        onclick: () => drain(ns, worker, again) }, 'Drain …'))));
  }
}
customElements.define('bw-workers', WorkersPage);

class QueuesPage extends Place {
  title = 'Queues';
  about = 'Where work waits, the longest wait first.';

  /** @param {string} ns */
  async draw(ns) {
    /** @type {import('../types').QueueList} */
    const { queues, truncated } = await look(ns, 'queues');
    if (!queues.length) {
      return empty('queue', 'No queue has work', 'A queue appears when a run or a worker names it.',
        'bowline demo');
    }
    const oldest = (/** @type {import('../types').QueueSummary} */ queue) =>
      [queue.turns_oldest, queue.activities_oldest].filter(Boolean).sort()[0] ?? '~';
    queues.sort((a, b) => (oldest(a) < oldest(b) ? -1 : 1));
    return table(['Queue', 'Turns waiting', 'Activities waiting', 'Running', 'Workers'],
      queues.map((queue) => h('tr', null,
        cell('Queue', h('a', { href: to(ns, 'runs', '', { queue: queue.name, status: 'open' }) },
          queue.name)),
        cell('Turns waiting', number(queue.turns_waiting), ' ',
          queue.turns_oldest && h('span', { class: 'faint' }, 'oldest ', when(queue.turns_oldest))),
        cell('Activities waiting', number(queue.activities_waiting), ' ', queue.activities_oldest
          && h('span', { class: 'faint' }, 'oldest ', when(queue.activities_oldest))),
        cell('Running', queue.slots ? meter(queue.activities_running, queue.slots)
          : number(queue.activities_running)),
        cell('Workers', queue.workers.length ? queue.workers.join(', ')
          : badge('silent', 'nobody')))), truncated);
  }
}
customElements.define('bw-queues', QueuesPage);

class OrphansPage extends Place {
  title = 'Orphans';
  about = 'What should not be there at all.';

  /** @param {string} ns */
  async draw(ns) {
    /** @type {import('../types').OrphanList} */
    const { runs, activities, count, truncated } = await look(ns, 'orphans');
    if (!count) {
      return h('div', { class: 'panel' }, empty('check', 'There are none',
        'Everything that runs has somebody who waits for it, or was let go of on purpose. '
        + 'This should stay so after any fault; the same from a terminal:', 'bowline orphans'));
    }
    const tree = /** @type {CancelTree} */ (document.createElement('bw-cancel-tree'));
    tree.ns = ns;
    tree.show([...runs, ...(activities.length ? [{ id: 'work of closed runs', run: '', type: '',
      status: 'running', hops: {}, left_alone: true, words: 'that nobody has told to stop',
      activities, children: [] }] : [])]);
    return h('section', { class: 'panel' }, h('div', { class: 'seal bad' }, icon('ghost'),
      h('div', null, h('strong', null, `${number(count)} left over`),
        h('p', null, 'Cancel the runs below; tell of it, please: it is a fault of Bowline.'))),
    tree, truncated && h('p', { class: 'body faint' }, 'There are more than are shown.'));
  }
}
customElements.define('bw-orphans', OrphansPage);

class NamespacesPage extends Place {
  title = 'Namespaces';
  about = 'Runs of one namespace do not see those of another.';

  async draw() {
    const { namespaces: all } = await namespaces();
    return table(['Namespace', 'Closed runs are kept', ''], all.map((space) => h('tr', null,
      cell('Namespace', h('a', { href: to(space.name, 'runs') }, h('strong', null, space.name)),
        space.own && [' ', h('span', { class: 'chip' }, 'this program’s')]),
      cell('Closed runs are kept', space.kept_ms ? `for ${span(space.kept_ms)}` : 'for ever'),
      h('td', { class: 'tight' }, h('a', { href: to(space.name, 'runs', '', { status: 'open' }) },
        'open runs')))));
  }
}
customElements.define('bw-namespaces', NamespacesPage);
