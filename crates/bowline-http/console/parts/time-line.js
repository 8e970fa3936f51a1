// A run over time: turns, messages, activities, timers and children, each a bar. Long stretches in
// which nothing happens are folded.

import { fill, h, icon } from '../dom.js';
import { clock, now, span } from '../format.js';
import { to } from '../router.js';

/** @typedef {import('../types').Run} Run */
/** @typedef {import('../types').HistoryEvent} HistoryEvent */
/**
 * @typedef {{ label: string, tone: string, from: number, began?: number, till?: number,
 *   said: string, kind: string, href?: string }} Bar
 */
/** @typedef {{ at: number, tone: string, said: string }} Mark */

/** How much of the width a folded stretch has. */
const FOLD = 0.024;

/** Ends of activities, timers and children, by the end of the event's name. @type {[RegExp, string][]} */
const ENDS = [
  [/Completed$|Fired$/, 'good'], [/Failed$|TimedOut$|Terminated$/, 'bad'], [/Cancelled$/, 'calm'],
];

/** @param {Run} run @param {HistoryEvent[]} events @param {string} ns */
export function barsOf(run, events, ns) {
  /** @type {Map<number, Bar>} */
  const bars = new Map();
  /** @type {Mark[]} */
  const turns = [];
  /** @type {Mark[]} */
  const messages = [];
  for (const event of events) {
    const at = Date.parse(event.time);
    const said = `${event.words} · ${clock(event.time)} · +${span(event.since_start_ms)}`;
    if (/^Turn(Completed|Failed|TimedOut)$/.test(event.kind)) {
      turns.push({ at, tone: event.kind === 'TurnCompleted' ? 'run' : 'bad', said });
    } else if (/Signalled$|CancelRequested$|^Update/.test(event.kind) && !event.target) {
      messages.push({ at, tone: /Cancel/.test(event.kind) ? 'wait' : 'park', said });
    }
    const target = event.target;
    if (!target) continue;
    const opens = /^(ActivityScheduled|TimerStarted|ChildInitiated)$/.test(event.kind);
    if (opens) {
      const kind = event.kind.startsWith('Timer') ? 'timer'
        : event.kind.startsWith('Child') ? 'child' : 'activity';
      const own = String(event.more?.id ?? '');
      const name = kind === 'timer' ? `timer #${target}` : `${event.name} #${target}`;
      bars.set(target, { label: kind === 'child' ? `↳ ${own}` : name, tone: 'run', from: at, said,
        kind, href: kind === 'child' ? to(ns, 'runs', own) : undefined });
      continue;
    }
    const bar = bars.get(target);
    if (!bar) continue;
    if (/Started$/.test(event.kind)) {
      bar.began = event.more?.at ? Date.parse(String(event.more.at)) : at;
      bar.said += ` · on ${event.worker ?? '?'}`;
    }
    if (event.kind === 'ActivityCancelRequested') bar.tone = 'wait';
    const end = ENDS.find(([name]) => name.test(event.kind));
    if (end) {
      bar.till = at;
      bar.tone = end[1];
      bar.said += ` · ${event.words} after ${span(at - bar.from)}`;
    }
  }
  for (const one of run.activities) {
    const bar = bars.get(one.number);
    if (!bar) continue;
    if (one.cancel) bar.tone = 'wait';
    if (one.started_at && one.state === 'running') {
      bar.began = Date.parse(one.started_at);
      bar.said += ` · running on ${one.worker}, attempt ${one.attempt}`;
    }
  }
  return { bars: [...bars.values()], turns, messages };
}

export class TimeLine extends HTMLElement {
  /** What part of the width is shown. */
  #from = 0;
  #till = 1;
  #folds = true;
  /** @type {{ run: Run, bars: Bar[], turns: Mark[], messages: Mark[] } | null} */
  #about = null;
  #view = h('div', { class: 'tl', tabindex: '0', role: 'group',
    'aria-label': 'Time line. Plus and minus zoom, arrows move.' });

  connectedCallback() {
    const button = (/** @type {string} */ sign, /** @type {string} */ name,
      /** @type {() => void} */ act) => h('button', { class: 'small', title: name,
      'aria-label': name, onclick: act }, icon(sign));
    const fold = h('button', { class: 'small', 'aria-pressed': 'true', onclick: () => {
      this.#folds = !this.#folds;
      fold.setAttribute('aria-pressed', String(this.#folds));
      fold.textContent = this.#folds ? 'Idle folded' : 'Idle shown';
      this.#draw();
    } }, 'Idle folded');
    const legend = [['run', 'running'], ['wait', 'cancelling'], ['good', 'done'], ['bad', 'failed'],
      ['calm', 'cancelled']].map(([tone, word]) =>
      h('span', { class: `t-${tone}` }, h('i'), word));
    fill(this, h('div', { class: 'tl-tools' }, button('plus', 'Zoom in', () => this.#zoom(0.6)),
      button('minus', 'Zoom out', () => this.#zoom(1 / 0.6)),
      h('button', { class: 'small', onclick: () => this.#set(0, 1) }, 'Fit'), fold,
      h('div', { class: 'legend' }, legend)), this.#view);
    this.#view.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.#zoom(event.deltaY < 0 ? 0.8 : 1.25, this.#part(event.clientX));
    });
    this.#view.addEventListener('keydown', (event) => {
      const wide = this.#till - this.#from;
      if (event.key === '+') this.#zoom(0.6);
      else if (event.key === '-') this.#zoom(1 / 0.6);
      else if (event.key === 'ArrowLeft') this.#set(this.#from - wide / 5, this.#till - wide / 5);
      else if (event.key === 'ArrowRight') this.#set(this.#from + wide / 5, this.#till + wide / 5);
      else return;
      event.preventDefault();
    });
    this.#drags();
  }

  #drags() {
    this.#view.addEventListener('pointerdown', (event) => {
      if (event.target instanceof Element && event.target.closest('a')) return;
      const [from, till, x] = [this.#from, this.#till, event.clientX];
      const move = (/** @type {PointerEvent} */ next) => {
        const by = ((x - next.clientX) / this.#width()) * (till - from);
        this.#set(from + by, till + by);
      };
      const up = () => removeEventListener('pointermove', move);
      addEventListener('pointermove', move);
      addEventListener('pointerup', up, { once: true });
    });
  }

  #width() {
    return this.#view.querySelector('.tl-track')?.clientWidth || 1;
  }

  /** Where in the shown part the pointer is. @param {number} x */
  #part(x) {
    const left = this.#view.querySelector('.tl-track')?.getBoundingClientRect().left ?? 0;
    return Math.max(0, Math.min(1, (x - left) / this.#width()));
  }

  /** @param {number} by @param {number} [at] */
  #zoom(by, at = 0.5) {
    const wide = this.#till - this.#from;
    const next = Math.min(1, Math.max(0.0005, wide * by));
    const from = this.#from + (wide - next) * at;
    this.#set(from, from + next);
  }

  /** @param {number} from @param {number} till */
  #set(from, till) {
    const wide = till - from;
    this.#from = Math.max(0, Math.min(1 - wide, from));
    this.#till = this.#from + wide;
    this.#draw();
  }

  /** @param {Run} run @param {HistoryEvent[]} events @param {string} ns */
  show(run, events, ns) {
    this.#about = { run, ...barsOf(run, events, ns) };
    this.#draw();
  }

  /** Open bars grow. */
  grow() {
    if (this.#about && !this.#about.run.closed_at) this.#draw();
  }

  /** From moments to parts of the width. @param {number} start @param {number} end */
  #scale(start, end) {
    if (!this.#about) return { x: () => 0, folds: [] };
    const { bars, turns, messages } = this.#about;
    const all = [start, end, ...turns.map((t) => t.at), ...messages.map((m) => m.at),
      ...bars.flatMap((b) => [b.from, b.began ?? b.from, b.till ?? b.from])];
    const times = all.filter((at) => at >= start && at <= end).sort((a, b) => a - b);
    const whole = Math.max(1, end - start);
    /** @type {{ at: number, till: number, x: number }[]} */
    const folds = [];
    if (this.#folds) {
      for (let i = 1; i < times.length; i++) {
        const [a, b] = [/** @type {number} */ (times[i - 1]), /** @type {number} */ (times[i])];
        if (b - a > whole * 0.25 && b - a > 5000) folds.push({ at: a, till: b, x: 0 });
      }
    }
    const left = whole - folds.reduce((sum, fold) => sum + fold.till - fold.at, 0);
    const room = 1 - folds.length * FOLD;
    const x = (/** @type {number} */ at) => {
      let [past, gone] = [0, 0];
      for (const fold of folds) {
        if (at <= fold.at) break;
        past += (Math.min(at, fold.till) - fold.at) / (fold.till - fold.at) * FOLD;
        gone += Math.min(at, fold.till) - fold.at;
      }
      return past + ((at - start - gone) / Math.max(1, left)) * room;
    };
    for (const fold of folds) fold.x = x(fold.at);
    return { x, folds };
  }

  #draw() {
    if (!this.#about) return;
    const { run, bars, turns, messages } = this.#about;
    const start = Date.parse(run.started_at);
    const end = Math.max(start + 1, run.closed_at ? Date.parse(run.closed_at) : now());
    const { x, folds } = this.#scale(start, end);
    const wide = this.#till - this.#from;
    const place = (/** @type {number} */ part) => ((part - this.#from) / wide) * 100;
    const percent = (/** @type {number} */ at) => place(x(at));
    const row = (/** @type {any} */ label, /** @type {any[]} */ ...kids) => {
      const folded = folds.map((fold) => {
        const at = h('i', { class: 'tl-fold', title: `${span(fold.till - fold.at)} folded` });
        at.style.left = `${place(fold.x)}%`;
        at.style.width = `${(FOLD / wide) * 100}%`;
        return at;
      });
      return h('div', { class: 'tl-row' }, h('div', { class: 'tl-label' }, label),
        h('div', { class: 'tl-track' }, folded, kids));
    };
    const mark = (/** @type {Mark} */ one) => {
      const it = h('i', { class: `tl-mark t-${one.tone}`, title: one.said });
      it.style.left = `${percent(one.at)}%`;
      return it;
    };
    const rows = [row('turns', turns.map(mark))];
    if (messages.length) rows.push(row('messages', messages.map(mark)));
    for (const bar of bars) {
      const till = bar.till ?? end;
      const began = bar.kind === 'activity' ? bar.began ?? till : bar.from;
      const piece = (/** @type {number} */ a, /** @type {number} */ b, /** @type {string} */ more) => {
        const it = h('div', { class: `tl-bar t-${bar.tone} ${more}`, title: bar.said });
        it.style.left = `${percent(a)}%`;
        it.style.width = `${Math.max(0.1, percent(b) - percent(a))}%`;
        return it;
      };
      const main = piece(began, till, `${bar.kind}${bar.till ? '' : ' open'}`);
      if (percent(till) - percent(began) > 9) main.append(span(till - began));
      const label = bar.href ? h('a', { href: bar.href, title: bar.said }, bar.label)
        : h('span', { title: bar.said }, bar.label);
      rows.push(row(label, bar.kind === 'activity' && began > bar.from
        && piece(bar.from, began, 'wait-part'), main));
    }
    const top = this.#view.scrollTop;
    fill(this.#view, this.#axis(start, end, x, place), rows);
    this.#view.scrollTop = top;
  }

  /** @param {number} start @param {number} end @param {(at: number) => number} x @param {(part: number) => number} place */
  #axis(start, end, x, place) {
    const track = h('div', { class: 'tl-track' });
    const wide = (this.#till - this.#from) * (end - start);
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5,
      6e5, 12e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 6048e5, 2592e6];
    const step = steps.find((one) => wide / one <= 7) ?? 31536e6;
    let last = -20;
    for (let at = 0, most = 400; at <= end - start && most > 0; at += step, most--) {
      const left = place(x(start + at));
      if (left < 0 || left > 96 || left - last < 9) continue;
      last = left;
      const text = h('span', null, at === 0 ? clock(start) : `+${span(at)}`);
      text.style.left = `${Math.max(left, at === 0 ? 5 : 0)}%`;
      track.append(text);
    }
    return h('div', { class: 'tl-axis' }, h('div'), track);
  }
}
customElements.define('bw-time-line', TimeLine);
