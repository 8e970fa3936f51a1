// Every request to the server. Nothing else uses the network, but for the streams in `live.js`.

import { heardDate } from './format.js';

/** @typedef {import('./types').Problem} Problem */
/** @typedef {Record<string, string | string[] | number | undefined>} Query */

/** The server said no; `problem` says why and what to do. */
export class Refused extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Nobody answered. */
export class Unreachable extends Error {
  constructor() {
    super('The server does not answer. What you see may be old.');
  }
}

/** @param {string} path @param {Query} [query] */
export function url(path, query = {}) {
  const at = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== '') at.searchParams.append(name, String(one));
    }
  }
  return at;
}

/** A name for one request, so that its repetition counts once. */
export function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * @template T
 * @param {string} method @param {URL} at @param {unknown} [body] @param {string} [once]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
async function call(method, at, body, once, signal) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (once) headers['idempotency-key'] = once;
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(at, { method, headers, body: text, signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  heardDate(response.headers.get('date'));
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  // Whoever is not known is asked who they are, wherever they are.
  if (response.status === 401 && !at.pathname.endsWith('/session')) dispatchEvent(new Event('locked'));
  throw new Refused(answer?.code ? answer : {
    type: '', title: response.statusText, status: response.status, code: 'http',
    detail: `The server answered ${response.status} ${response.statusText}.`,
    todo: 'See the log of the process.', request_id: response.headers.get('x-request-id') ?? '–',
  });
}

const e = encodeURIComponent;
/** @param {string} ns @param {string} path */
const within = (ns, path) => `namespaces/${e(ns)}/${path}`;

/** @template T @param {string} ns @param {string} path @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<T>} */
export const look = (ns, path, query, signal) =>
  call('GET', url(within(ns, path), query), undefined, undefined, signal);

/** @template T @param {string} ns @param {string} path @param {unknown} body @param {Query} [query] @param {string} [once] @returns {Promise<T>} */
export const tell = (ns, path, body, query, once = key()) =>
  call('POST', url(within(ns, path), query), body, once);

/** @returns {Promise<import('./types').NamespaceList>} */
export const namespaces = () => call('GET', url('namespaces'));

/** @returns {Promise<import('./types').Me>} */
export const whoAmI = () => call('GET', url('me'));

/** @param {string} credential @returns {Promise<import('./types').Me>} */
export const logIn = (credential) => call('POST', url('session'), { credential });

/** @returns {Promise<import('./types').Me>} */
export const logOut = () => call('DELETE', url('session'));

/** The path of a run: this very one. @param {string} run */
export const exact = (run) => `runs/${e(`@${run}`)}`;

/** @param {string} ns @param {string} path */
export const stream = (ns, path) => url(within(ns, path));

/** Who asks: as they have shown, or else as they call themselves here. */
export const me = {
  /** @type {string | undefined} */
  who: undefined,
  get name() {
    return localStorage.getItem('bowline.me') ?? '';
  },
  set name(name) {
    localStorage.setItem('bowline.me', name);
  },
  /** What a request says of who asks; nothing where that is known. */
  get by() {
    return this.who ? undefined : this.name || 'console';
  },
};
