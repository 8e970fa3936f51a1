// The frame: which page is shown, the keyboard, the theme, and whether what is seen is live.

import { logOut, me, namespaces, whoAmI } from './api.js';
import { fill, h, icon, tick } from './dom.js';
import { clock } from './format.js';
import { live } from './live.js';
import { askWho, whoView } from './parts/log-in.js';
import { go, here, onClick, to } from './router.js';

/** @typedef {import('./types').Page} Page */

/** Pages are fetched when they are first looked at. @type {Record<string, [string, () => Promise<unknown>]>} */
const PAGES = {
  runs: ['bw-runs', () => import('./pages/runs.js')],
  run: ['bw-run', () => import('./pages/run.js')],
  receipt: ['bw-receipt', () => import('./pages/receipt.js')],
  orphans: ['bw-orphans', () => import('./pages/places.js')],
  namespaces: ['bw-namespaces', () => import('./pages/places.js')],
};
const NAV = [['runs', 'Runs', 'list'], ['orphans', 'Orphans', 'ghost'], ['namespaces', 'Spaces', 'space']];
const KEYS = [['/', 'Filter'], ['j', 'Next run'], ['k', 'Previous run'], ['x', 'Select it'],
  ['Enter', 'Open it'], ['c', 'Cancel it, or the selection'], ['n', 'Start a run'],
  ['g r', 'Runs'], ['g o', 'Orphans'], ['?', 'These keys']];

class Shell extends HTMLElement {
  #spaces = h('select', { class: 'spaces', 'aria-label': 'Namespace' });
  #nav = h('nav', { 'aria-label': 'Pages' });
  #who = h('span', { class: 'who-of' });
  #pulse = h('span', { class: 'pulse', role: 'status' }, 'connecting');
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #fading;

  connectedCallback() {
    const theme = h('button', { class: 'quiet', title: 'Light or dark', 'aria-label': 'Light or dark',
      onclick: () => {
        const dark = matchMedia('(prefers-color-scheme: dark)').matches;
        const now = document.documentElement.dataset.theme ?? (dark ? 'dark' : 'light');
        this.#theme(now === 'dark' ? 'light' : 'dark');
      } }, icon('sun'));
    const keys = h('button', { class: 'quiet wide', title: 'Keys', 'aria-label': 'Keys',
      onclick: showKeys }, icon('keys'));
    const top = h('div', { class: 'top' }, h('a', { class: 'brand', href: document.baseURI },
      h('img', { src: 'console/icon.svg', alt: '' }), 'Bowline'), this.#spaces);
    const foot = h('div', { class: 'foot' }, this.#who, this.#pulse, theme, keys);
    fill(this, top, this.#nav, foot);
    const narrow = matchMedia('(max-width: 720px)');
    const place = () => (narrow.matches ? top : this).append(foot);
    narrow.addEventListener('change', place);
    place();
    this.#theme(localStorage.getItem('bowline.theme') ?? '');
    this.#spaces.addEventListener('change', () => go(to(this.#spaces.value, 'runs')));
    live.addEventListener('state', () => this.#heard());
    whoAmI().then(({ who, how }) => {
      me.who = who;
      // What a certificate shows is not this page's to forget.
      const leave = () => logOut().then(() => location.reload());
      if (who) fill(this.#who, whoView(who, how === 'key' || how === 'token' ? leave : undefined));
    }, () => {});
    namespaces().then(({ namespaces: all }) => {
      fill(this.#spaces, all.map(({ name }) => h('option', { value: name }, name)));
      this.show();
    }, () => {});
    this.show();
  }

  /** @param {string} theme */
  #theme(theme) {
    if (!theme) return;
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('bowline.theme', theme);
  }

  /** Says whether what is seen is how things are. */
  #heard() {
    clearTimeout(this.#fading);
    const { isLive, since } = live;
    this.#pulse.className = `pulse ${isLive ? 'live' : 'off'}`;
    this.#pulse.textContent = isLive ? 'live' : `offline since ${clock(since)}`;
    // A stream that comes again at once leaves nothing old behind.
    const stale = () => document.body.classList.toggle('stale', !live.isLive);
    if (isLive) stale();
    else this.#fading = setTimeout(stale, 1000);
  }

  show() {
    const { page, ns } = here();
    const at = { run: 'runs', receipt: 'runs' }[page] ?? page;
    if (!Array.from(this.#spaces.options).some((option) => option.value === ns)) {
      this.#spaces.append(h('option', { value: ns }, ns));
    }
    this.#spaces.value = ns;
    fill(this.#nav, NAV.map(([name = '', text = '', sign = '']) => h('a', { href: to(ns, name),
      'aria-current': name === at ? 'page' : null }, icon(sign), text)));
  }
}

function showKeys() {
  const dialog = h('dialog', { 'aria-label': 'Keys' }, h('div', { class: 'inner' }, h('h2', null, 'Keys'),
    h('div', { class: 'keys' }, KEYS.flatMap(([key = '', what = '']) => [
      h('span', null, key.split(' ').map((one) => h('kbd', null, one))), h('span', null, what)])),
    h('footer', null, h('button', { onclick: () => dialog.close() }, 'Close'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

let page = /** @type {Page | null} */ (null);
let shown = '';

async function move() {
  const route = here();
  const [tag, fetch] = PAGES[route.page] ?? PAGES.runs ?? ['bw-runs', async () => {}];
  await fetch();
  if (here().page !== route.page) return;
  const main = /** @type {HTMLElement} */ (document.getElementById('main'));
  live.follow(route.ns);
  if (!page || shown !== `${tag} ${route.ns}`) {
    page = /** @type {Page} */ (document.createElement(tag));
    shown = `${tag} ${route.ns}`;
    fill(main, page);
    main.scrollTop = 0;
  }
  const what = route.id || (NAV.find(([name]) => name === route.page)?.[1] ?? 'Runs');
  document.title = `${what} · Bowline`;
  page.go(route);
  /** @type {Shell | null} */ (document.querySelector('bw-shell'))?.show();
}

let after = '';

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const types = target.closest('input:not([type=checkbox]), textarea, select, dialog');
  if (event.key === 'Escape' && types) target.blur();
  if (types || event.metaKey || event.ctrlKey || event.altKey) return;
  const jump = { r: 'runs', o: 'orphans' }[event.key];
  const jumps = after === 'g' && jump;
  after = event.key;
  if (jumps) go(to(here().ns, jump));
  else if (event.key === '?') showKeys();
  else if (event.key === '/' && here().page !== 'runs') go(to(here().ns, 'runs'));
  else if (!page?.key?.(event)) return;
  event.preventDefault();
}

customElements.define('bw-shell', Shell);
addEventListener('moved', move);
addEventListener('popstate', move);
addEventListener('click', onClick);
addEventListener('locked', askWho);
addEventListener('keydown', onKey);
setInterval(tick, 1000);
move();
