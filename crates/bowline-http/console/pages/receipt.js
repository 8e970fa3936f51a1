// How far a cancel has come, live: what was hit, what is awaited, and when it is clean.

import { look, stream } from '../api.js';
import { fact, fill, growing, h, icon, trouble, when } from '../dom.js';
import { PHASES, number, plural, short, span } from '../format.js';
import { onNews } from '../live.js';
import { CancelTree } from '../parts/cancel-tree.js';
import { whyView } from '../parts/data-view.js';
import { toRun } from '../router.js';

/** @typedef {import('../types').Route} Route */
/** @typedef {import('../types').Receipt} Receipt */

/** After how many milliseconds a stream that was refused is asked for again. */
const AGAIN = 3000;

/** @param {Receipt} receipt */
function sealOf(receipt) {
  const took = span(receipt.took_ms ?? receipt.age_ms);
  if (receipt.clean) {
    return h('div', { class: 'seal good' }, icon('check'), h('div', null,
      h('strong', null, 'Clean: nothing is left running'), h('p', null, `after ${took}`)));
  }
  const worst = receipt.awaited.filter((one) => ['lost', 'leaked', 'left'].includes(one.kind));
  if (worst.length) {
    const what = { lost: 'Lost: nobody saw it end', leaked: 'Leaked: code runs on',
      left: 'Left: a run was left alone' }[worst[0]?.kind ?? ''];
    return h('div', { class: 'seal bad' }, icon('ask'), h('div', null,
      h('strong', null, what ?? ''), h('p', null, receipt.settled
        ? 'Nothing durable can change any more, but this is not clean.'
        : 'The rest is still being stopped.')));
  }
  return h('div', { class: 'seal' }, icon('half'), h('div', null,
    h('strong', null, 'Stopping ', growing(receipt.requested_at)),
    h('p', null, `${plural(receipt.awaited.length, 'thing')} awaited`)));
}

class ReceiptPage extends HTMLElement {
  /** @type {Route} */
  #route = { page: 'receipt', ns: 'default', id: '', query: new URLSearchParams() };
  /** @type {EventSource | null} */
  #source = null;
  #isSettled = false;
  #seal = h('div', { 'aria-live': 'polite' });
  #rail = h('ol', { class: 'rail', 'aria-label': 'Phases' });
  #head = h('div', { class: 'head' });
  #facts = h('dl', { class: 'facts' });
  #wrong = h('div');
  #awaited = h('section', { class: 'panel', 'aria-label': 'Awaited' });
  #tree = /** @type {CancelTree} */ (document.createElement('bw-cancel-tree'));

  connectedCallback() {
    this.classList.add('page');
    fill(this, this.#head, this.#wrong, this.#seal,
      h('section', { class: 'panel', 'aria-label': 'How far it has come' }, this.#rail, this.#facts),
      this.#awaited, h('section', { class: 'panel', 'aria-label': 'The tree' }, this.#tree));
    // What was lost may be seen again after everything else has settled.
    onNews(this, () => this.#isSettled, () => this.#look(), 2000);
  }

  disconnectedCallback() {
    this.#source?.close();
  }

  /** @param {Route} route */
  go(route) {
    if (route.id === this.#route.id && this.#source) return;
    this.#route = route;
    this.#tree.ns = route.ns;
    fill(this.#head, h('h1', null, `Receipt ${short(route.id)}`));
    this.#isSettled = false;
    this.#open();
  }

  /** Follows the receipt; the first thing that the stream says is how it stands. */
  #open() {
    this.#source?.close();
    const { ns, id } = this.#route;
    const source = new EventSource(stream(ns, `receipts/${encodeURIComponent(id)}/events`));
    this.#source = source;
    source.addEventListener('receipt', (event) => this.#draw(JSON.parse(event.data)));
    source.onerror = async () => {
      // It tries again by itself, unless it was refused.
      if (source.readyState !== EventSource.CLOSED || source !== this.#source) return;
      await this.#look();
      setTimeout(() => this.isConnected && source === this.#source && !this.#isSettled
        && this.#open(), AGAIN);
    };
  }

  async #look() {
    try {
      this.#draw(await look(this.#route.ns, `receipts/${encodeURIComponent(this.#route.id)}`));
      fill(this.#wrong);
    } catch (error) {
      fill(this.#wrong, trouble(error, () => this.#look()));
    }
  }

  /** @param {Receipt} receipt */
  #draw(receipt) {
    // An answer that comes late says how it stood before.
    if (this.#isSettled && !receipt.settled) return;
    this.#isSettled = receipt.settled;
    // The stream has nothing more to say, and would be asked for again for ever.
    if (receipt.settled) this.#source?.close();
    this.dataset.phase = receipt.phase;
    this.dataset.clean = String(receipt.clean);
    const top = receipt.tree[0];
    fill(this.#head, h('h1', null, 'Cancel of ', top ? h('a', { href: toRun(this.#route.ns, top) },
      top.id) : short(receipt.run)), top && h('span', { class: 'faint' }, top.type));
    fill(this.#seal, sealOf(receipt));
    const reached = PHASES.indexOf(receipt.phase);
    this.#rail.classList.toggle('clean', receipt.clean);
    fill(this.#rail, PHASES.map((phase, at) => h('li', {
      class: `${at <= reached ? 'done' : ''}${at === reached ? ' now' : ''}`,
      'aria-current': at === reached ? 'step' : null }, h('span', null, phase))));
    fill(this.#facts, fact('Why', whyView(receipt.why)), fact('Asked', when(receipt.requested_at)),
      fact('Hit', `${plural(receipt.runs, 'run')}, ${plural(receipt.activities, 'activity', 'activities')}`),
      fact('Running now', number(receipt.running)),
      receipt.never_started > 0 && fact('Never started', number(receipt.never_started)),
      receipt.queued > 0 && fact('In queues', number(receipt.queued)),
      fact('Receipt', h('span', { class: 'mono', title: receipt.id }, short(receipt.id))),
      fact('Kept until', new Date(receipt.keep_until).toLocaleDateString()));
    this.#awaited.hidden = receipt.awaited.length === 0;
    fill(this.#awaited, h('header', null, h('h2', null, receipt.settled ? 'Not clean because of'
      : 'Still awaited')),
    h('ul', { class: 'awaited' }, receipt.awaited.slice(0, 100).map((one) => h('li', null,
      h('span', { class: `chip ${/lost|leaked|left/.test(one.kind) ? 'bad' : 'wait'}` }, one.kind),
      h('span', null, one.words)))));
    this.#tree.show(receipt.tree);
    if (receipt.truncated) {
      this.#tree.append(h('p', { class: 'body faint' }, 'There is more of it than is shown.'));
    }
  }
}
customElements.define('bw-receipt', ReceiptPage);
