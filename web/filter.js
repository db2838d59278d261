// Which members are looked at, as the address says it, as the API is asked, and as a command.
import {h, foreign, visible} from './dom.js';
import {count} from './format.js';
import {MEMBERS, sign} from './states.js';

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

// {states: names, from, to: null where any, where: conditions by parameter, host, cause: null where any}
export function readFilter(parameters) {
  const states = (parameters.get('state') ?? '').split(',').filter(name => MEMBERS.includes(name));
  return {states, from: index(parameters.get('from')), to: index(parameters.get('to')), where: readWhere(parameters.get('where')),
    host: parameters.get('host'), cause: parameters.get('cause')};
}

export const isSearching = ({where, host, cause}) => Object.keys(where).length > 0 || host !== null || cause !== null;

// As the API takes it; only the part that needs a search, where the rest is known here.
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

const bytesOf = text => [...new TextEncoder().encode(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('');

// A word for a shell. Characters that are not seen are told by their bytes, as bash, zsh and ksh read them.
function quoted(word) {
  const text = String(word);
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (visible(text) === text && !/[\t\n]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, '\\$&').replace(/./gsu, one => (visible(one) === one && !/[\t\n]/.test(one) ? one : bytesOf(one)))}'`;
}

const isEnd = value => value === null || typeof value === 'number';

// Two numbers are a range, of which one may be missing; any other list, and an object, is a value that the parameter has.
const isRange = value => Array.isArray(value) && value.length === 2 && value.every(isEnd);

const asText = value => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function condition([name, value]) {
  if (isRange(value)) return `${name}=${value[0] ?? ''}..${value[1] ?? ''}`;
  return `${name}=${typeof value === 'string' && /^(\s*[-\d"[{]|true$|false$)|\.\./.test(value) ? JSON.stringify(value) : asText(value)}`;
}

export function commandOf(id, {states, from, to, where, host, cause}) {
  const words = ['stretto', 'members', id], option = (name, value) => value !== null && value !== '' && words.push(`--${name}`, quoted(value));
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

// A condition in words for people.
export function conditionInWords(name, value) {
  if (!isRange(value)) return [foreign(name), ' = ', foreign(asText(value))];
  const [low, high] = value;
  if (low === null) return [foreign(name), ` ≤ ${high}`];
  if (high === null) return [foreign(name), ` ≥ ${low}`];
  return [foreign(name), ` from ${low} to ${high}`];
}

// How the filter reads, and what of it can be taken away.
function chips(id, parameters, filter) {
  const {states, from, to, where, host, cause} = filter, list = [];
  const add = (key, words, changes, name) => list.push(h('li', {'data-key': key}, words,
    h('a', {class: 'away', href: addressOf(id, parameters, changes), 'aria-label': `Without ${name}`}, '×')));
  for (const state of states) add(state, [sign(state), ' ', state], {states: states.filter(other => other !== state)}, `“${state}”`);
  if (from !== null || to !== null) {
    const words = to === null ? `from ${id}.${from} on` : from === null ? `up to ${id}.${to}` : `${id}.${from} to ${id}.${to}`;
    add('range', words, {from: null, to: null}, 'the range of members');
  }
  for (const [name, value] of Object.entries(where)) {
    const rest = Object.fromEntries(Object.entries(where).filter(([other]) => other !== name));
    add(`where ${name}`, conditionInWords(name, value), {where: rest}, `the parameter ${visible(name)}`);
  }
  if (host !== null) add('host', ['on ', foreign(host)], {host: null}, 'the host');
  if (cause !== null) add('cause', ['failed: ', foreign(cause)], {cause: null}, 'the cause');
  return list;
}

// found: how many members there are, or null while that is not known.
export function filterView(id, parameters, filter, found, total) {
  const list = chips(id, parameters, filter);
  if (list.length === 0) return null;
  const none = addressOf(id, parameters, {states: [], from: null, to: null, where: {}, host: null, cause: null});
  return h('section', {class: 'panel chosen', 'data-key': 'chosen', 'aria-labelledby': 'chosen'},
    h('div', {class: 'panel-head'},
      h('h2', {id: 'chosen'}, found === null ? 'Some members' : `${count(found)} of ${count(total)} members`),
      h('a', {href: none}, 'All members')),
    h('ul', {class: 'plain chips', 'aria-label': 'What they are chosen by'}, list),
    h('details', null, h('summary', null, 'As a command'),
      h('pre', {class: 'command', tabindex: '0'}, visible(`${commandOf(id, filter)}\n${requestOf(id, filter)}`))));
}
