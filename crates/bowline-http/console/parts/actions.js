// What can be asked of runs, each by a dialog that says first what it would do.

import { exact, look, me, tell } from '../api.js';
import { ask, field, fill, h, icon, toast, trouble } from '../dom.js';
import { number, plural } from '../format.js';
import { go, to, toRun } from '../router.js';
import { fateOf, stateOf } from './cancel-tree.js';
import { dataView, failureView } from './data-view.js';

/** @typedef {import('../types').RunSummary} RunSummary */
/** @typedef {import('../types').RunTree} RunTree */
/** @typedef {import('../types').TreeRun} TreeRun */
/** @typedef {import('../types').Asked} Asked */
/** @typedef {{ id: string, run: string, type: string }} Named */

/** How many lines of a tree a preview shows. */
const SHOWN = 40;
/** How many requests are out at once. */
const AT_ONCE = 6;

const input = (/** @type {string} */ name, /** @type {object} */ more = {}) =>
  h('input', { name, autocomplete: 'off', spellcheck: 'false', ...more });

const asWhom = () => !me.who && field('Your name', input('by', { value: me.name, placeholder: 'console' }),
  'Stands in the cause, where nobody is logged in.');

/** @param {FormData} form @param {string} name */
const said = (form, name) => String(form.get(name) ?? '').trim();

/** @param {FormData} form */
function who(form) {
  if (!me.who) me.name = said(form, 'by');
  return me.by;
}

/** @param {FormData} form @param {string} name */
function jsonOf(form, name) {
  const text = said(form, name);
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The input is not JSON: ${/** @type {Error} */ (error).message}`);
  }
}

const jsonField = () => field('Input', h('textarea', { name: 'input', spellcheck: 'false',
  placeholder: '{ "customer": "acme" }' }), 'Any JSON, or nothing.');

/** @param {string} ns @param {Partial<RunSummary>} [like] */
export function start(ns, like = {}) {
  ask({ title: 'Start a run', verb: 'Start', body: [
    h('div', { class: 'two' },
      field('Workflow', input('type', { required: true, value: like.type })),
      field('Queue', input('queue', { required: true, value: like.queue ?? 'default' }))),
    field('Id', input('id', { required: true, placeholder: 'order-42' }),
      'One run of an id is open at a time.'),
    jsonField()],
  send: async (form) => {
    /** @type {import('../types').StartedRun} */
    const run = await tell(ns, 'runs', { type: said(form, 'type'), id: said(form, 'id'),
      queue: said(form, 'queue'), input: jsonOf(form, 'input'), by: me.by });
    go(toRun(ns, run));
  } });
}

/** @param {string} ns @param {Named} run */
export function signal(ns, run) {
  ask({ title: `Signal ${run.id}`, verb: 'Send', body: [
    field('Signal', input('name', { required: true })), jsonField()],
  send: async (form) => {
    await tell(ns, `${exact(run.run)}/signal`, { name: said(form, 'name'),
      input: jsonOf(form, 'input'), by: me.by });
    toast('The signal is stored; the run reads it with its next turn.');
  } });
}

/** @param {string} ns @param {Named} run @param {'query' | 'update'} verb */
function converse(ns, run, verb) {
  const answer = h('div', { 'aria-live': 'polite' });
  const isQuery = verb === 'query';
  ask({ title: `${isQuery ? 'Query' : 'Update'} ${run.id}`, verb: isQuery ? 'Ask' : 'Send', body: [
    field(isQuery ? 'Query' : 'Update', input('name', { required: true })), jsonField(), answer],
  send: async (form) => {
    fill(answer, h('p', { class: 'faint' }, 'Waiting for the answer …'));
    try {
      const body = { name: said(form, 'name'), input: jsonOf(form, 'input') };
      /** @type {import('../types').UpdateAnswered} */
      const told = await tell(ns, `${exact(run.run)}/${verb}`,
        isQuery ? body : { ...body, by: me.by });
      fill(answer, told.stage && h('p', null, `The update is ${told.stage}.`),
        dataView(told.answer, 'Answer'), failureView(told.failure),
        !told.answer && !told.failure && h('p', { class: 'faint' }, 'The answer has no value.'));
    } catch (error) {
      fill(answer, trouble(error));
    }
    return false;
  } });
}
/** @param {string} ns @param {Named} run */
export const query = (ns, run) => converse(ns, run, 'query');
/** @param {string} ns @param {Named} run */
export const update = (ns, run) => converse(ns, run, 'update');

/** What a tree comes to. @param {RunTree} tree */
function sum(tree) {
  const counts = { runs: 0, running: 0, queued: tree.queued };
  /** @type {HTMLElement[]} */
  const lines = [];
  const line = (/** @type {string} */ sign, /** @type {number} */ deep, /** @type {any[]} */ ...kids) => {
    const item = h('li', null, icon(sign), kids);
    item.style.setProperty('--deep', String(deep));
    if (lines.length < SHOWN) lines.push(item);
  };
  const walk = (/** @type {TreeRun} */ run, /** @type {number} */ deep) => {
    const isOpen = stateOf(run) !== 'good';
    if (isOpen) {
      counts.runs++;
      line('play', deep, h('strong', null, run.id), h('span', null, run.type));
    }
    for (const one of run.activities.filter((one) => one.running)) {
      counts.running++;
      line(fateOf(one) === 'bad' ? 'ask' : 'half', deep + 1,
        h('span', null, `${one.name} #${one.number}`), h('span', null, one.words));
    }
    for (const child of run.children) walk(child, isOpen ? deep + 1 : deep);
  };
  tree.runs.forEach((run) => walk(run, 0));
  return { counts, lines };
}

/** @param {{ runs: number, running: number, queued: number }} counts */
const counted = (counts) => h('div', { class: 'counts' },
  [[counts.runs, 'open runs'], [counts.running, 'activities running'],
    [counts.queued, 'waiting in queues']].map(([count, what]) =>
    h('div', null, h('b', null, number(Number(count))), h('span', null, what))));

/** @param {string} ns @param {Named} run */
export function cancel(ns, run) {
  const preview = h('div', { class: 'preview-of', 'aria-live': 'polite' },
    h('p', { class: 'faint' }, 'Looking at what runs …'));
  look(ns, `${exact(run.run)}/tree`).then((tree) => {
    const { counts, lines } = sum(/** @type {RunTree} */ (tree));
    const isMore = /** @type {RunTree} */ (tree).truncated || counts.runs + counts.running > SHOWN;
    fill(preview, h('p', null, 'This is asked to stop, with everything below it:'), counted(counts),
      h('ul', { class: 'preview', tabindex: '0', 'aria-label': 'What would be cancelled' }, lines,
        isMore && h('li', { class: 'faint' }, 'and more')));
  }, (error) => fill(preview, trouble(error)));
  ask({ title: `Cancel ${run.id}?`, verb: 'Cancel the run', tone: 'primary', body: [preview,
    field('Reason', input('reason', { placeholder: 'out of stock' })),
    h('div', { class: 'two' },
      field('Grace for activities', h('select', { name: 'grace' },
        [['', 'as they say themselves'], ['0', 'none'], ['1000', '1 s'], ['10000', '10 s'],
          ['60000', '1 min']].map(([value, text]) => h('option', { value }, text)))),
      field('Terminate what stays open', h('select', { name: 'after' },
        [['', 'never'], ['10000', 'after 10 s'], ['60000', 'after 1 min'],
          ['600000', 'after 10 min']].map(([value, text]) => h('option', { value }, text))))),
    asWhom()],
  send: async (form) => {
    const after = said(form, 'after');
    const grace = said(form, 'grace');
    /** @type {Asked} */
    const asked = await tell(ns, `${exact(run.run)}/cancel`, { reason: said(form, 'reason'),
      by: who(form), terminate_after_ms: after ? Number(after) : undefined,
      ladder: grace ? { grace_ms: Number(grace) } : undefined });
    if (asked.receipt) go(to(ns, 'receipts', asked.receipt));
    else toast(`${run.id} was over already: ${asked.status}.`);
  } });
}

/** @param {string} ns @param {Named} run */
export function terminate(ns, run) {
  const confirm = input('confirm', { required: true, placeholder: run.id });
  ask({ title: `Terminate ${run.id}?`, verb: 'Terminate', tone: 'danger', body: [
    h('div', { class: 'note bad' }, icon('warn'), h('p', null,
      'The run is closed without asking its code: no clean-up of its own runs. '
      + 'A cancel is nearly always what you want.')),
    field(`Type the id, ${run.id}, to go on`, confirm),
    field('Reason', input('reason')), asWhom()],
  send: async (form) => {
    if (said(form, 'confirm') !== run.id) throw new Error('That is not the id of this run.');
    /** @type {Asked} */
    const asked = await tell(ns, `${exact(run.run)}/terminate`,
      { reason: said(form, 'reason'), by: who(form) });
    if (asked.receipt) go(to(ns, 'receipts', asked.receipt));
  } });
}

/** @param {string} ns @param {Named} run */
export async function retry(ns, run) {
  await tell(ns, `${exact(run.run)}/retry`, undefined);
  toast(`${run.id} is tried again.`);
}

/** One activity, timer or child; its run goes on. @param {string} ns @param {Named} run @param {string} kind @param {number} target @param {string} name */
export function cancelOne(ns, run, kind, target, name) {
  ask({ title: `Cancel ${name}?`, verb: 'Cancel it alone', body: [
    h('p', null, `${run.id} goes on, and sees that it was cancelled.`),
    field('Reason', input('reason')), asWhom()],
  send: async (form) => {
    /** @type {{ met: string }} */
    const { met } = await tell(ns, `${exact(run.run)}/${kind}/${target}/cancel`,
      { reason: said(form, 'reason'), by: who(form) });
    toast(met === 'asked' ? `${name} is asked to stop.` : `${name}: ${met}.`);
  } });
}

/** Several runs, each with a receipt of its own. @param {string} ns @param {RunSummary[]} runs @param {() => void} done */
export function cancelMany(ns, runs, done) {
  const open = runs.filter((run) => !run.closed_at);
  const list = h('ul', { class: 'preview', tabindex: '0', 'aria-label': 'What would be cancelled' },
    open.slice(0, 200).map((run) => h('li', null, icon('play'), h('strong', null, run.id),
      h('span', null, run.type))));
  const progress = h('p', { 'aria-live': 'polite' });
  ask({ title: `Cancel ${plural(open.length, 'run')}?`, verb: 'Cancel them', body: [
    h('p', null, open.length === runs.length ? 'Each of them, with everything below it:'
      : `${plural(runs.length - open.length, 'run')} of the selection are over already. The others:`),
    list, field('Reason', input('reason')), asWhom(), progress],
  send: async (form) => {
    const [reason, by] = [said(form, 'reason'), who(form)];
    const waiting = [...open];
    let count = 0;
    /** @type {unknown[]} */
    const refused = [];
    const work = async () => {
      for (let run = waiting.shift(); run; run = waiting.shift()) {
        await tell(ns, `${exact(run.run)}/cancel`, { reason, by }).catch((e) => refused.push(e));
        progress.textContent = `${++count} of ${open.length} asked`;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (refused.length) throw refused[0];
    toast(`${plural(open.length, 'run')} asked to cancel.`);
    done();
  } });
}
