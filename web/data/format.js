// Numbers and times for people.

const whole = new Intl.NumberFormat('en');
const minutes = new Intl.DateTimeFormat([], {hour: '2-digit', minute: '2-digit'});
const rounded = []; // a formatter for each number of digits: to make one takes far longer than to use it

export const count = n => whole.format(n);

const roundedTo = digits => (rounded[digits] ??= new Intl.NumberFormat('en', {maximumSignificantDigits: digits}));

// The number, or null if it is not finite: curves have a gap there.
export const finite = value => (typeof value === 'number' ? value : null);

export function number(value, digits = 4) {
  if (typeof value !== 'number') return 'not finite'; // JSON has null for NaN, and texts for the infinities
  const size = Math.abs(value);
  if (value === 0 || (size >= 0.001 && size < 1e6)) return roundedTo(digits).format(value);
  return value.toExponential(2).replace('e+', 'e');
}

const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

// Returns how long it took, or has taken until now; null if it has not begun.
export const between = (started, ended) => started
  && duration((Date.parse(ended ?? new Date().toISOString()) - Date.parse(started)) / 1000);

// Two units at most: "2 h 13 min".
export function duration(seconds) {
  if (seconds > 0 && seconds < 9.95) return `${number(seconds, seconds < 1 ? 1 : 2)} s`;
  let left = Math.max(0, Math.round(seconds));
  const words = [];
  for (const [unit, size] of UNITS) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n > 0) words.push(`${n} ${unit}`);
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.length > 0 ? words.join(' ') : '0 s';
}

// Members a second, or in a unit in which there is more than one.
export function rate(perSecond) {
  if (!(perSecond > 0)) return '–';
  for (const [unit, size] of [['s', 1], ['min', 60], ['h', 3600]])
    if (perSecond * size >= 1) return `${number(perSecond * size, 3)}/${unit}`;
  return `${number(perSecond * 86400, 3)}/d`;
}

// Rounded down: what is not whole does not look so.
export const share = part => `${Math.floor(part * 1000) / 10} %`;

export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${number(n, 3)} ${units[unit]}`;
}

const since = time => (Date.now() - Date.parse(time)) / 1000;

// In whole seconds, since tenths would only flicker.
export const age = time => (since(time) < 0.5 ? 'now' : `${duration(Math.round(since(time)))} ago`);

export const until = time => (since(time) < -0.5 ? `in ${duration(Math.round(-since(time)))}` : 'any moment');

export const moment = time => new Date(time).toLocaleString();

export const minute = time => minutes.format(new Date(time));

export const day = time => new Date(time).toLocaleDateString();

export const clock = time => new Date(time).toLocaleTimeString();

const isLoss = name => /(^|[_/.:])loss$/.test(name);

// Names of metrics in the order in which they are shown.
export const lossesFirst = names => [...names].sort((a, b) => isLoss(b) - isLoss(a) || (a < b ? -1 : 1));
