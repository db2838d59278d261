// The filter of members: as read from the page's address, as sent to the API, and as a command.
import {MEMBERS} from './states.js';
import {visible} from './text.js';

const NAMES = ['state', 'from', 'to', 'where', 'host', 'cause'];

function readWhere(text) {
  try {
    const where = JSON.parse(text);
    return where !== null && typeof where === 'object' && !Array.isArray(where) ? where : {};
  } catch {
    return {};
  }
}

const index = text => (/^\d{1,12}$/.test(text ?? '') ? Number(text) : null);

// {states: names, from, to: null if any, where: conditions by parameter, host, cause: null if any}
export function readFilter(parameters) {
  const states = (parameters.get('state') ?? '').split(',').filter(name => MEMBERS.includes(name));
  return {states, from: index(parameters.get('from')), to: index(parameters.get('to')),
    where: readWhere(parameters.get('where')),
    host: parameters.get('host'), cause: parameters.get('cause')};
}

export const isSearching = ({where, host, cause}) => Object.keys(where).length > 0 || host !== null || cause !== null;

// Returns the filter as a query of the API, or, if the rest is known here, only the part that needs a search.
export function queryOf(filter, onlySearch = false) {
  const {states, from, to, where, host, cause} = filter, query = new URLSearchParams();
  const put = (name, value) => value !== null && value !== '' && query.set(name, value);
  if (!onlySearch) {
    put('state', states.join(','));
    put('from', from);
    put('to', to);
  }
  put('where', Object.keys(where).length > 0 ? JSON.stringify(where) : '');
  put('host', host);
  put('cause', cause);
  return query;
}

// The address of a filter: what else the address says stays, but for the page.
export function addressOf(id, parameters, changes) {
  const query = new URLSearchParams(parameters), filter = queryOf({...readFilter(parameters), ...changes});
  for (const name of [...NAMES, 'cursor']) query.delete(name);
  for (const [name, value] of filter) query.set(name, value);
  return `#/ensembles/${id}${query.size > 0 ? `?${query}` : ''}`;
}

const bytesOf = text => [...new TextEncoder().encode(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`)
  .join('');

// A word for a shell. Characters that are not seen are told by their bytes, as bash, zsh and ksh read them.
function quoted(word) {
  const text = String(word);
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (visible(text) === text && !/[\t\n]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const seen = one => (visible(one) === one && !/[\t\n]/.test(one) ? one : bytesOf(one));
  return `$'${text.replace(/[\\']/g, '\\$&').replace(/./gsu, seen)}'`;
}

const isEnd = value => value === null || typeof value === 'number';

// Two numbers are a range, of which one may be missing; any other list, and an object, is a value that the parameter
// has.
export const isRange = value => Array.isArray(value) && value.length === 2 && value.every(isEnd);

export const asText = value => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function condition([name, value]) {
  if (isRange(value)) return `${name}=${value[0] ?? ''}..${value[1] ?? ''}`;
  const isLikeAnother = typeof value === 'string' && /^(\s*[-\d"[{]|true$|false$)|\.\./.test(value);
  return `${name}=${isLikeAnother ? JSON.stringify(value) : asText(value)}`;
}

export function commandOf(id, {states, from, to, where, host, cause}) {
  const words = ['stretto', 'members', id], option = (name, value) => value !== null && value !== ''
    && words.push(`--${name}`, quoted(value));
  option('state', states.join(','));
  option('from', from);
  option('to', to);
  for (const one of Object.entries(where)) option('where', condition(one));
  option('host', host);
  option('cause', cause);
  return words.join(' ');
}

export function requestOf(id, filter) {
  const parts = [...queryOf(filter)].map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`);
  return ['curl -G --unix-socket stretto.sock', `stretto/v1/ensembles/${id}/members`, ...parts].join(' ');
}
