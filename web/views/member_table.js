// The members of an ensemble, page by page, all or those in one state.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {addressOf, queryOf, readFilter} from '../data/member_filter.js';
import {pill} from '../widgets/state_signs.js';
import {visible} from '../data/text.js';

const PAGE = 50;

const SHOWN = 2; // metrics, if the list is not sorted by another one
const SORTS = /^(attempts|took|memory|(metric|min|max|area):.+)$/s;

function sortOf(parameters) {
  const sort = SORTS.test(parameters.get('sort') ?? '') ? parameters.get('sort') : null;
  return {sort, order: sort && (parameters.get('order') === 'asc' ? 'asc' : 'desc')};
}

function queryFor(parameters) {
  const query = queryOf(readFilter(parameters)), {sort, order} = sortOf(parameters);
  if (sort) {
    query.set('sort', sort);
    query.set('order', order);
  }
  query.set('metrics', '*');
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
  const text = value => (digits && typeof value === 'number' ? format.number(value, digits) : typeof value === 'string'
    ? value : JSON.stringify(value));
  const all = Object.entries(parameters);
  return all.map(([name, value], i) =>
    [i > 0 && ' ', h('span', {class: 'pair'}, foreign(name), ' = ', foreign(text(value)), i < all.length - 1 && ',')]);
}

// The reason, and what comes next.
const why = ({reason, retry_at: due, follow_up: successor, index}) => [
  reason && foreign(reason),
  due && `${reason ? '; ' : ''}retry ${format.until(due)}`,
  successor && h('a', {href: `#/ensembles/${successor}/members/${index}`}, ` goes on in #${successor}`)];

const stateOf = ({state, progress}) => [pill(state), state === 'running' && progress !== null
  && h('span', {class: 'quiet'}, ` ${format.share(progress)}`)];

// Columns; those with `sort` can be sorted, by what and in which order at first.
const COLUMNS = [
  {title: 'state', cell: stateOf},
  {title: 'attempts', isNumber: true, sort: 'attempts', first: 'desc', cell: ({attempts}) => format.count(attempts)},
  {title: 'took', isNumber: true, sort: 'took', first: 'desc', cell: ({last_attempt: last}) => last
    && format.between(last.started, last.ended)},
  {title: 'memory', isNumber: true, sort: 'memory', first: 'desc',
    cell: ({last_attempt: last}) => last?.memory_peak != null && format.bytes(last.memory_peak)},
];

const MORE = [
  {title: 'parameters', isWide: true, cell: ({parameters}) => parametersOf(parameters, 6)},
  {title: 'reason', isWide: true, cell: why},
];

// A figure of a metric: "metric:train_loss" is its last value.
function metricColumn(sort) {
  const kind = sort.slice(0, sort.indexOf(':')), name = sort.slice(kind.length + 1), figure = kind === 'metric' ? 'last'
    : kind;
  const cell = ({metrics}) => metrics[name] && format.number(metrics[name][figure]);
  return {title: figure === 'last' ? foreign(name) : [foreign(name), ' ', h('span', {class: 'quiet'}, figure)],
    isNumber: true, isMetric: true,
    label: `${visible(name)}${figure === 'last' ? '' : ` ${figure}`}`, sort, first: 'asc', cell};
}

function columnsOf(members, {sort}) {
  const names = format.lossesFirst(new Set(members.flatMap(({metrics}) => Object.keys(metrics)))),
    shown = names.slice(0, SHOWN).map(name => `metric:${name}`);
  if (sort?.includes(':') && !shown.includes(sort)) shown.push(sort);
  return [...COLUMNS, ...shown.map(metricColumn), ...MORE];
}

const classOf = ({isNumber, isMetric, isWide}) => [isNumber && 'number', isMetric && 'metric', isWide && 'wide'].filter(
  Boolean).join(' ') || null;

function row(id, member, columns) {
  return h('tr', {'data-key': member.index},
    h('th', {scope: 'row'}, h('a', {href: `#/ensembles/${id}/members/${member.index}`}, `${id}.${member.index}`)),
    columns.map(column => h('td', {class: classOf(column), 'data-label': column.label}, column.cell(member))));
}

// In one order, in the other, then by index.
function header(id, parameters, column) {
  const {sort, order} = sortOf(parameters), isSorted = column.sort !== undefined && column.sort === sort;
  const next = new URLSearchParams(parameters);
  for (const name of ['sort', 'order', 'cursor']) next.delete(name);
  if (!isSorted || order === column.first) {
    next.set('sort', column.sort);
    next.set('order', !isSorted ? column.first : order === 'asc' ? 'desc' : 'asc');
  }
  return h('th', {scope: 'col', class: column.isNumber && 'number', 'data-key': column.sort ?? column.title,
    'aria-sort': isSorted && (order === 'asc' ? 'ascending' : 'descending')},
    column.sort === undefined ? column.title : h('a', {href: `#/ensembles/${id}${next.size > 0 ? `?${next}` : ''}`},
      isSorted && h('span', {'aria-hidden': 'true'}, order === 'asc' ? '↑ ' : '↓ '), column.title));
}

function none({states}, query) {
  if (query.size === 0) return 'There are no more members.';
  return states.length === 1 && query.size === 1 ? `No member is ${states[0]}.` : 'No member is like that.';
}

export function membersView(ensemble, page, parameters, filter) {
  const id = ensemble.id, cursor = parameters.get('cursor');
  const more = new URLSearchParams(parameters), columns = columnsOf(page.members, sortOf(parameters));
  if (page.next) more.set('cursor', page.next);
  return h('section', {class: 'panel', 'aria-labelledby': 'members', 'aria-busy': page.query !== queryFor(parameters)
    && 'true'},
    h('h2', {id: 'members'}, 'Members'),
    page.members.length === 0
      ? h('p', {class: 'empty'}, none(filter, queryOf(filter)))
      : h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of members'},
          h('table', {class: 'members'},
            h('thead', null, h('tr', null,
              [{title: 'member'}, ...columns].map(column => header(id, parameters, column)))),
            h('tbody', null, page.members.map(member => row(id, member, columns))))),
    h('nav', {class: 'pages', 'aria-label': 'Pages of members'},
      cursor && h('a', {href: addressOf(id, parameters, {})}, 'First'),
      page.next && h('a', {href: `#/ensembles/${id}?${more}`}, 'Next')));
}
