// Orphans and namespaces: each a table that stays up to date.

import { look, namespaces } from '../api.js';
import { empty, fill, h, icon, trouble } from '../dom.js';
import { number, span } from '../format.js';
import { inTurn, onNews } from '../live.js';
import { CancelTree } from '../parts/cancel-tree.js';
import { to } from '../router.js';

/** @typedef {import('../types').Route} Route */

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

  load = inTurn(async () => {
    try {
      const shown = await this.draw(this.route.ns);
      fill(this.#wrong);
      fill(this.#box, shown);
      this.dataset.ready = 'true';
    } catch (error) {
      fill(this.#wrong, trouble(error, () => this.load()));
    }
  });

  /** @param {string} _ns @returns {Promise<HTMLElement>} */
  async draw(_ns) {
    return h('div');
  }
}

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
