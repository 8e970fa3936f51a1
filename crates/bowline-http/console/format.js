// Times, spans, states and numbers in the words that people use.

/** How far the server's clock is ahead of this one. */
let ahead = 0;

/** @param {string | null} date the `Date` of an answer */
export function heardDate(date) {
  const off = date ? Date.parse(date) - Date.now() : 0;
  // The header has whole seconds: less is no difference.
  ahead = Math.abs(off) > 2000 ? off : 0;
}

/** Now, by the server's clock. */
export const now = () => Date.now() + ahead;

/** @param {number} ms */
export function span(ms) {
  const s = ms / 1000;
  if (ms < 1) return ms > 0 ? `${ms.toFixed(1)} ms` : '0 ms';
  if (ms < 1000) return `${ms < 10 && ms % 1 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const two = (/** @type {number} */ big, /** @type {string} */ a, /** @type {number} */ small,
    /** @type {string} */ b) => (small ? `${big} ${a} ${small} ${b}` : `${big} ${a}`);
  const m = Math.floor(s / 60);
  if (m < 60) return two(m, 'min', Math.floor(s % 60), 's');
  const hours = Math.floor(m / 60);
  if (hours < 24) return two(hours, 'h', m % 60, 'min');
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** One unit only: for lists. @param {number} ms */
export function brief(ms) {
  const text = span(ms);
  const words = text.split(' ');
  return words.length > 2 ? `${words[0]} ${words[1]}` : text;
}

/** @param {string} moment */
export function ago(moment) {
  const ms = now() - Date.parse(moment);
  if (ms < -1000) return `in ${brief(-ms)}`;
  return ms < 1500 ? 'just now' : `${brief(Math.floor(ms / 1000) * 1000)} ago`;
}

/** @param {string | number} moment */
export function clock(moment) {
  const at = new Date(moment);
  const time = at.toLocaleTimeString(undefined, { hour12: false });
  const isToday = at.toDateString() === new Date(now()).toDateString();
  return isToday ? time : `${at.toLocaleDateString()} ${time}`;
}

/** @param {number} count */
export const number = (count) => count.toLocaleString('en-US');

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) =>
  `${number(count)} ${count === 1 ? one : many}`;

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return plural(bytes, 'byte');
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

/** How each state looks: its colour, its sign. @type {Record<string, [string, string]>} */
export const STATES = {
  running: ['run', 'play'],
  cancelling: ['wait', 'half'],
  parked: ['park', 'pause'],
  completed: ['good', 'check'],
  failed: ['bad', 'cross'],
  cancelled: ['calm', 'ban'],
  timed_out: ['bad', 'clock'],
  terminated: ['bad', 'stop'],
  continued_as_new: ['calm', 'turn'],
  working: ['good', 'check'],
  draining: ['wait', 'half'],
  silent: ['bad', 'ask'],
  clean: ['good', 'check'],
};

/** @param {string} word */
export const words = (word) => word.replaceAll('_', ' ');

/** The phases of a cancel, in their order. */
export const PHASES =
  ['requested', 'decided', 'delivered', 'observed', 'stopped', 'settled', 'clean'];

/** The end of an id, which is enough to tell it from others. @param {string} id */
export const short = (id) => id.slice(-8);
