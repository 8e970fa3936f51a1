// Everything that a cancel has hit, each with its cause, its hops and what became of it.

import { fill, h, icon } from '../dom.js';
import { span, words } from '../format.js';
import { toRun } from '../router.js';

/** @typedef {import('../types').TreeRun} TreeRun */
/** @typedef {import('../types').TreeActivity} TreeActivity */
/** @typedef {import('../types').Hops} Hops */

/** @param {TreeActivity} line @returns {string} */
export function fateOf(line) {
  const unseen = line.unseen?.length ?? 0;
  if (line.leaked || line.lost || unseen) return 'bad';
  if (line.running) return line.why ? 'wait' : 'run';
  if (line.ended || line.hops.stopped_ms !== undefined) return 'good';
  return line.why ? 'wait' : 'run';
}

/** @param {TreeRun} run @returns {string} */
export function stateOf(run) {
  if (run.left_alone) return 'bad';
  if (!['running', 'cancelling'].includes(run.status)) return 'good';
  return run.why ? 'wait' : 'run';
}

/** @param {string} tone @param {boolean} moves */
function sign(tone, moves) {
  if (tone === 'good') return icon('check');
  if (tone === 'bad') return icon('ask');
  return moves ? h('i', { class: 'pending' }) : icon('play');
}

export class CancelTree extends HTMLElement {
  ns = '';
  /** How each line looked before, by its name. @type {Map<string, string>} */
  #before = new Map();

  /** @param {TreeRun[]} runs */
  show(runs) {
    const lines = [h('div', { class: 'ct-head', 'aria-hidden': 'true' },
      ['Target', 'What became of it', 'Decided', 'Told', 'Looked', 'Stopped', 'Rung'].map(
        (name, at) => h('span', { class: at > 1 && at < 6 ? 'right' : '' }, name)))];
    const list = h('ul', { 'aria-label': 'Everything that the cancel has hit' });
    const now = new Map();
    const add = (/** @type {string} */ key, /** @type {HTMLElement} */ line) => {
      const looks = line.textContent ?? '';
      const before = this.#before.get(key);
      if (before !== undefined && before !== looks) line.classList.add('changed');
      now.set(key, looks);
      list.append(line);
    };
    const walk = (/** @type {TreeRun} */ run, /** @type {number} */ deep) => {
      add(run.run, this.#run(run, deep));
      for (const one of run.activities) {
        add(`${one.run} ${one.number}`, this.#activity(one, deep + 1));
      }
      for (const child of run.children) walk(child, deep + 1);
    };
    runs.forEach((run) => walk(run, 0));
    this.#before = now;
    fill(this, lines, list);
  }

  /** @param {TreeRun} run @param {number} deep */
  #run(run, deep) {
    const tone = stateOf(run);
    return this.#line(tone, deep, [sign(tone, tone === 'wait'),
      h('a', { href: toRun(this.ns, run), title: `${run.type}, run ${run.run}` }, run.id),
      h('span', { class: 'faint' }, run.type)],
    [run.words, run.why], { ...run.hops, stopped_ms: run.hops.closed_ms }, '');
  }

  /** @param {TreeActivity} line @param {number} deep */
  #activity(line, deep) {
    const tone = fateOf(line);
    const unseen = (line.unseen ?? []).map((one) =>
      h('div', null, h('span', { class: 'chip bad' }, one.state), ` attempt ${one.attempt}: `,
        one.words));
    const attempt = line.attempt > 1 ? ` try ${line.attempt}` : '';
    return this.#line(tone, deep, [sign(tone, line.running), h('b', null, line.name),
      h('span', { class: 'faint' }, `#${line.number}${attempt}`)],
    [line.words, line.why, line.deaf && 'its worker hears only with heartbeats', unseen],
    line.hops, line.rung ?? '');
  }

  /**
   * @param {string} tone @param {number} deep @param {any[]} name @param {any[]} what
   * @param {Hops} hops @param {string} rung
   */
  #line(tone, deep, name, what, hops, rung) {
    const [said, why, ...rest] = what;
    const hop = (/** @type {string} */ label, /** @type {number | undefined} */ ms) =>
      h('span', { class: `hop${ms === undefined ? ' none' : ''}`, 'data-name': label },
        ms === undefined ? '–' : `+${span(ms)}`);
    const line = h('li', { class: `ct-line t-${tone}`, 'data-tone': tone },
      h('div', { class: 'ct-name' }, name),
      h('div', { class: 'ct-words' }, said, ' ',
        why && h('span', { class: 'chip', title: why.words }, words(why.code)), rest),
      hop('decided', hops.decided_ms), hop('told', hops.delivered_ms),
      hop('looked', hops.observed_ms), hop('stopped', hops.stopped_ms),
      h('span', { class: 'ct-rung' }, rung && h('span', { class: 'chip' }, words(rung))));
    line.style.setProperty('--deep', String(deep));
    return line;
  }
}
customElements.define('bw-cancel-tree', CancelTree);
