// A list of runs of any length: only what can be seen is in the page.

import { badge, fill, growing, h, when } from '../dom.js';
import { brief, short } from '../format.js';
import { toRun } from '../router.js';

/** @typedef {import('../types').RunSummary} RunSummary */

/** Rows above and below what can be seen. */
const SPARE = 8;

/** What there is to know at a glance. @param {RunSummary} run */
function why(run) {
  if (run.parked) return run.parked.reason;
  if (run.cancel) {
    const { by, reason, code } = run.cancel.why;
    return [by, reason ? `“${reason}”` : code].filter(Boolean).join(' ');
  }
  return Object.entries(run.search ?? {}).map(([name, value]) => `${name}:${value}`).join(' ');
}

export class RunList extends HTMLElement {
  ns = '';
  /** @type {RunSummary[]} */
  runs = [];
  /** Ids of runs. @type {Set<string>} */
  picked = new Set();
  /** Where the keyboard is. */
  at = -1;
  /** @type {Map<string, { row: HTMLElement, of: RunSummary, index: number }>} */
  #rows = new Map();
  #view = h('div', { class: 'runs-view', tabindex: '0', role: 'rowgroup', 'aria-label': 'Runs' });
  #all = h('div', { class: 'runs-all', role: 'presentation' });
  #last = -1;

  connectedCallback() {
    this.classList.add('panel');
    this.setAttribute('role', 'table');
    this.setAttribute('aria-label', 'Runs');
    const names = ['', 'Status', 'Id', 'Type', 'Queue', 'Started', 'Took', 'What'];
    const head = h('div', { class: 'runs-head', role: 'row' }, names.map((name) =>
      h('span', { role: 'columnheader', class: name === 'Took' ? 'right' : '' },
        name || h('span', { 'aria-label': 'Selected' }))));
    fill(this, h('div', { role: 'rowgroup' }, head), this.#view);
    this.#view.append(this.#all);
    this.#view.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.#view);
  }

  get isAtTop() {
    return this.#view.scrollTop < 4;
  }

  toTop() {
    this.#view.scrollTop = 0;
  }

  /** Draws what can be seen, and asks for more near the end. */
  draw() {
    const height = parseFloat(getComputedStyle(this).getPropertyValue('--row')) || 36;
    const { scrollTop, clientHeight } = this.#view;
    const first = Math.max(0, Math.floor(scrollTop / height) - SPARE);
    const last = Math.min(this.runs.length, Math.ceil((scrollTop + clientHeight) / height) + SPARE);
    this.#all.style.height = `${this.runs.length * height}px`;
    this.setAttribute('aria-rowcount', String(this.runs.length + 1));
    const seen = new Set();
    for (let index = first; index < last; index++) {
      const run = this.runs[index];
      if (!run) continue;
      seen.add(run.run);
      let drawn = this.#rows.get(run.run);
      if (!drawn || drawn.of !== run) {
        const row = this.#row(run);
        if (drawn) {
          if (drawn.of.state !== run.state) row.classList.add('fresh');
          drawn.row.replaceWith(row);
        } else this.#all.append(row);
        drawn = { row, of: run, index: -1 };
        this.#rows.set(run.run, drawn);
      }
      drawn.row.style.transform = `translateY(${index * height}px)`;
      drawn.row.setAttribute('aria-rowindex', String(index + 2));
      drawn.row.classList.toggle('at', index === this.at);
      const isPicked = this.picked.has(run.run);
      drawn.row.classList.toggle('picked', isPicked);
      const box = drawn.row.querySelector('input');
      if (box) box.checked = isPicked;
      drawn.index = index;
    }
    for (const [id, { row }] of this.#rows) {
      if (!seen.has(id)) {
        row.remove();
        this.#rows.delete(id);
      }
    }
    if (last + 40 >= this.runs.length) this.dispatchEvent(new CustomEvent('more'));
  }

  /** @param {RunSummary} run */
  #row(run) {
    const cell = (/** @type {string} */ name, /** @type {any[]} */ ...kids) =>
      h('span', { class: name, role: 'cell' }, kids);
    const box = h('input', { type: 'checkbox', 'aria-label': `Select ${run.id}` });
    box.addEventListener('click', (event) => {
      const index = this.runs.findIndex((one) => one.run === run.run);
      this.pick(index, box.checked, event.shiftKey);
    });
    const took = run.closed_at ? brief(run.took_ms) : growing(run.started_at);
    const row = h('div', { class: `run-row${run.closed_at ? ' past' : ''}`, role: 'row',
      'data-run': run.run },
    h('span', { class: 'pick', role: 'cell' }, box), cell('state', badge(run.state)),
    cell('id', h('a', { href: toRun(this.ns, run), title: `run ${short(run.run)}` }, run.id)),
    cell('type', run.type), cell('queue', run.queue), cell('began', when(run.started_at)),
    cell('took right', took), cell('why', why(run)));
    row.querySelector('.why')?.setAttribute('title', why(run));
    return row;
  }

  /** @param {number} index @param {boolean} is @param {boolean} [range] */
  pick(index, is, range = false) {
    const from = range && this.#last >= 0 ? this.#last : index;
    for (let at = Math.min(from, index); at <= Math.max(from, index); at++) {
      const run = this.runs[at];
      if (run) this.picked[is ? 'add' : 'delete'](run.run);
    }
    this.#last = index;
    this.draw();
    this.dispatchEvent(new CustomEvent('picked'));
  }

  /** @param {number} step */
  move(step) {
    this.at = Math.max(0, Math.min(this.runs.length - 1, this.at + step));
    const height = parseFloat(getComputedStyle(this).getPropertyValue('--row')) || 36;
    const top = this.at * height;
    const view = this.#view;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + height > view.scrollTop + view.clientHeight) {
      view.scrollTop = top + height - view.clientHeight;
    }
    this.draw();
  }
}
customElements.define('bw-run-list', RunList);
