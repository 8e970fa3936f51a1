// Addresses: what is shown is in them, so that it can be sent to somebody else.

/** @typedef {import('./types').Route} Route */

const base = () => new URL(document.baseURI).pathname;
const e = encodeURIComponent;

/** @param {string} ns @param {string} page @param {string} [id] @param {Record<string, string | undefined>} [query] */
export function to(ns, page, id, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const path = page === 'namespaces' ? 'namespaces' : `ns/${e(ns)}/${page}${id ? `/${e(id)}` : ''}`;
  return `${base()}${path}${search.size ? `?${search}` : ''}`;
}

/** A run, this very one. @param {string} ns @param {{ id: string, run: string }} run */
export const toRun = (ns, run) => to(ns, 'runs', run.id, { run: run.run });

/** Where one is. @returns {Route} */
export function here() {
  const path = location.pathname.slice(base().length).split('/').map(decodeURIComponent);
  const query = new URLSearchParams(location.search);
  if (path[0] === 'namespaces') return { page: 'namespaces', ns: lastNs(), id: '', query };
  if (path[0] !== 'ns') return { page: 'runs', ns: lastNs(), id: '', query };
  const [, ns = 'default', page = 'runs', id = ''] = path;
  localStorage.setItem('bowline.ns', ns);
  const one = { runs: 'run', receipts: 'receipt' }[page];
  return { page: id && one ? one : page, ns, id, query };
}

export const lastNs = () => localStorage.getItem('bowline.ns') ?? 'default';

/** @param {string} address @param {boolean} [replace] */
export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  dispatchEvent(new Event('moved'));
}

/** Other options of the same page. @param {Record<string, string | undefined>} changes */
export function refine(changes) {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) search.set(name, value);
    else search.delete(name);
  }
  go(`${location.pathname}${search.size ? `?${search}` : ''}`, true);
}

/** Follows links inside the console without loading it again. @param {MouseEvent} event */
export function onClick(event) {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
  if (!link || !plain || link.target || event.defaultPrevented) return;
  if (link.origin !== location.origin || !link.pathname.startsWith(base())) return;
  if (/^(api\/|openapi|console\/)/.test(link.pathname.slice(base().length))) return;
  event.preventDefault();
  go(link.href);
}
