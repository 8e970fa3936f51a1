// What changes, as it changes. One tab holds the stream, and tells the others: a browser has six
// connections to a server, for all its tabs together.

import { stream } from './api.js';

/** @typedef {import('./types').News} News */

class Live extends EventTarget {
  ns = '';
  isLive = false;
  /** Since when it is as it is. */
  since = Date.now();
  /** @type {AbortController | null} */
  #leaving = null;
  /** @type {BroadcastChannel | null} */
  #channel = null;
  #leads = false;

  /** Follows a namespace, and no other. @param {string} ns */
  follow(ns) {
    if (ns === this.ns) return;
    this.#leaving?.abort();
    this.#channel?.close();
    this.ns = ns;
    this.#leads = false;
    const leaving = (this.#leaving = new AbortController());
    const channel = (this.#channel = new BroadcastChannel(`bowline ${document.baseURI} ${ns}`));
    channel.onmessage = ({ data }) => {
      if (data.kind !== 'hello') this.#hear(data);
      else if (this.#leads) channel.postMessage(this.#state());
    };
    channel.postMessage({ kind: 'hello' });
    const hold = () => this.#hold(leaving.signal);
    // Where the page came unencrypted from elsewhere there are no locks: each tab has its own.
    if (!navigator.locks) hold();
    else {
      const name = `bowline live ${document.baseURI} ${ns}`;
      navigator.locks.request(name, { signal: leaving.signal }, hold).catch(() => {});
    }
  }

  /** @returns {News} */
  #state() {
    return { kind: 'state', live: this.isLive, since: this.since };
  }

  /** @param {News} news */
  #hear(news) {
    if (news.kind === 'state') {
      const came = news.live && !this.isLive;
      this.isLive = news.live;
      this.since = news.since;
      this.dispatchEvent(new CustomEvent('state'));
      // What happened meanwhile is not known here.
      if (came) this.dispatchEvent(new CustomEvent('news', { detail: { kind: 'reset' } }));
    } else {
      this.dispatchEvent(new CustomEvent('news', { detail: news }));
    }
  }

  /** @param {News} news */
  #spread(news) {
    this.#hear(news);
    this.#channel?.postMessage(news);
  }

  /** Holds the stream until this tab leaves. @param {AbortSignal} signal */
  #hold(signal) {
    this.#leads = true;
    return new Promise((done) => {
      /** @type {EventSource} */
      let source;
      let waits = 500;
      /** @type {ReturnType<typeof setTimeout>} */
      let timer;
      const became = (/** @type {boolean} */ live) => {
        if (live !== this.isLive) this.#spread({ kind: 'state', live, since: Date.now() });
      };
      const open = () => {
        source = new EventSource(stream(this.ns, 'events'));
        source.onopen = () => {
          waits = 500;
          became(true);
        };
        source.onerror = () => {
          became(false);
          // It tries again by itself, unless it was refused.
          if (source.readyState !== EventSource.CLOSED) return;
          timer = setTimeout(open, waits);
          waits = Math.min(waits * 2, 15000);
        };
        const told = (/** @type {'run' | 'gone'} */ kind) => (/** @type {MessageEvent} */ event) =>
          this.#spread({ kind, ...JSON.parse(event.data) });
        source.addEventListener('run', told('run'));
        source.addEventListener('gone', told('gone'));
        source.addEventListener('reset', () => this.#spread({ kind: 'reset' }));
      };
      open();
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        source.close();
        done(undefined);
      });
    });
  }
}

export const live = new Live();

/**
 * Calls `act` now, or once more when the call that is under way is over: an older answer never
 * comes after a newer one.
 * @param {() => Promise<void>} act
 */
export function inTurn(act) {
  let [busy, again] = [false, false];
  return async () => {
    again = true;
    if (busy) return;
    for (busy = true; again;) {
      again = false;
      await act();
    }
    busy = false;
  };
}

/**
 * Calls `act` soon after something changed, at most once in `every` milliseconds, for as long as
 * `element` is in the page.
 * @param {HTMLElement} element @param {(news: News) => boolean} concerns
 * @param {() => void} act @param {number} [every]
 */
export function onNews(element, concerns, act, every = 400) {
  let last = 0;
  let timer = 0;
  const hear = (/** @type {Event} */ event) => {
    if (!element.isConnected) return live.removeEventListener('news', hear);
    if (timer || !concerns(/** @type {CustomEvent<News>} */ (event).detail)) return;
    const wait = Math.max(0, last + every - Date.now());
    timer = window.setTimeout(() => {
      timer = 0;
      last = Date.now();
      if (element.isConnected) act();
    }, wait);
  };
  live.addEventListener('news', hear);
}
