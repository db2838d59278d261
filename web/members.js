// The members of an ensemble, page by page, all or those in one state.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {addressOf, queryOf, readFilter} from './filter.js';
import {pill} from './states.js';

const PAGE = 50;

const SORTED = {attempts: 'attempts', took: 'took', memory: 'memory'}; // columns that can be sorted, and by what

function sortOf(parameters) {
  const sort = Object.values(SORTED).includes(parameters.get('sort')) ? parameters.get('sort') : null;
  return {sort, order: sort && (parameters.get('order') === 'asc' ? 'asc' : 'desc')};
}

function queryFor(parameters) {
  const query = queryOf(readFilter(parameters)), {sort, order} = sortOf(parameters);
  if (sort) {
    query.set('sort', sort);
    query.set('order', order);
  }
  query.set('limit', PAGE);
  if (parameters.get('cursor')) query.set('cursor', parameters.get('cursor'));
  return query.toString();
}

export async function loadMembers(id, parameters) {
  const query = queryFor(parameters);
  return {...(await api.get(`v1/ensembles/${id}/members?${query}`)), query};
}

// digits: of numbers; without it they are told exactly.
export function parametersOf(parameters, digits) {
  if (parameters === null) return 'cannot be read';
  const text = value => (digits && typeof value === 'number' ? format.number(value, digits) : typeof value === 'string' ? value : JSON.stringify(value));
  const all = Object.entries(parameters);
  return all.map(([name, value], i) => [i > 0 && ' ', h('span', {class: 'pair'}, foreign(name), ' = ', foreign(text(value)), i < all.length - 1 && ',')]);
}

function row(id, member) {
  const last = member.last_attempt;
  return h('tr', {'data-key': member.index},
    h('th', {scope: 'row'}, h('a', {href: `#/ensembles/${id}/members/${member.index}`}, `${id}.${member.index}`)),
    h('td', null, pill(member.state)),
    h('td', {class: 'number'}, format.count(member.attempts)),
    h('td', {class: 'number'}, last && format.between(last.started, last.ended)),
    h('td', {class: 'number'}, last?.memory_peak != null && format.bytes(last.memory_peak)),
    h('td', {class: 'wide'}, parametersOf(member.parameters, 6)),
    h('td', {class: 'wide'}, member.reason && foreign(member.reason),
      member.retry_at && `${member.reason ? '; ' : ''}retry ${format.until(member.retry_at)}`,
      member.follow_up && h('a', {href: `#/ensembles/${member.follow_up}/members/${member.index}`}, ` goes on in #${member.follow_up}`)));
}

// The greatest first, then the least, then by index.
function header(id, parameters, word) {
  const {sort, order} = sortOf(parameters), isSorted = SORTED[word] !== undefined && SORTED[word] === sort;
  const next = new URLSearchParams(parameters);
  for (const name of ['sort', 'order', 'cursor']) next.delete(name);
  if (!isSorted || order === 'desc') {
    next.set('sort', SORTED[word]);
    next.set('order', isSorted ? 'asc' : 'desc');
  }
  return h('th', {scope: 'col', class: NUMBERS.has(word) && 'number', 'data-key': word, 'aria-sort': isSorted && (order === 'asc' ? 'ascending' : 'descending')},
    SORTED[word] === undefined ? word : h('a', {href: `#/ensembles/${id}${next.size > 0 ? `?${next}` : ''}`},
      isSorted && h('span', {'aria-hidden': 'true'}, order === 'asc' ? '↑ ' : '↓ '), word));
}

const HEADERS = ['member', 'state', 'attempts', 'took', 'memory', 'parameters', 'reason'];
const NUMBERS = new Set(['attempts', 'took', 'memory']);

function none({states}, query) {
  if (query.size === 0) return 'There are no more members.';
  return states.length === 1 && query.size === 1 ? `No member is ${states[0]}.` : 'No member is like that.';
}

export function membersView(ensemble, page, parameters, filter) {
  const id = ensemble.id, cursor = parameters.get('cursor');
  const more = new URLSearchParams(parameters);
  if (page.next) more.set('cursor', page.next);
  return h('section', {class: 'panel', 'aria-labelledby': 'members', 'aria-busy': page.query !== queryFor(parameters) && 'true'},
    h('h2', {id: 'members'}, 'Members'),
    page.members.length === 0
      ? h('p', {class: 'empty'}, none(filter, queryOf(filter)))
      : h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of members'},
          h('table', {class: 'members'},
            h('thead', null, h('tr', null, HEADERS.map(word => header(id, parameters, word)))),
            h('tbody', null, page.members.map(member => row(id, member))))),
    h('nav', {class: 'pages', 'aria-label': 'Pages of members'},
      cursor && h('a', {href: addressOf(id, parameters, {})}, 'First'),
      page.next && h('a', {href: `#/ensembles/${id}?${more}`}, 'Next')));
}
