// The members of an ensemble, page by page, all or those in one state.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {MEMBERS, pill} from './states.js';

const PAGE = 50;

export function loadMembers(id, parameters) {
  const query = new URLSearchParams({limit: PAGE});
  for (const name of ['state', 'cursor']) if (parameters.get(name)) query.set(name, parameters.get(name));
  return api.get(`v1/ensembles/${id}/members?${query}`);
}

export const inState = (id, state) => `#/ensembles/${id}${state ? `?state=${state}` : ''}`;

// digits: of numbers; without it they are told exactly.
export function parametersOf(parameters, digits) {
  if (parameters === null) return 'cannot be read';
  const text = value => (digits && typeof value === 'number' ? format.number(value, digits) : typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(parameters).map(([name, value], i) => [i > 0 && ', ', foreign(name), ' = ', foreign(text(value))]);
}

function filter(id, ensemble, chosen) {
  const choose = event => (location.hash = inState(id, event.target.value));
  return h('div', {class: 'filter'}, h('label', {for: 'state'}, 'State '),
    h('select', {id: 'state', onchange: choose},
      h('option', {value: '', selected: !chosen}, `all (${format.count(ensemble.count)})`),
      MEMBERS.map(state => h('option', {value: state, selected: state === chosen}, `${state} (${format.count(ensemble.members[state])})`))));
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
      member.follow_up && h('a', {href: `#/ensembles/${member.follow_up}/members/${member.index}`}, ` goes on in #${member.follow_up}`)));
}

const HEADERS = ['member', 'state', 'attempts', 'took', 'memory', 'parameters', 'reason'];
const NUMBERS = new Set(['attempts', 'took', 'memory']);

export function membersView(ensemble, page, parameters) {
  const id = ensemble.id, chosen = parameters.get('state') ?? '', cursor = parameters.get('cursor');
  const more = new URLSearchParams(parameters);
  if (page.next) more.set('cursor', page.next);
  return h('section', {class: 'panel', 'aria-labelledby': 'members'},
    h('div', {class: 'panel-head'}, h('h2', {id: 'members'}, 'Members'), filter(id, ensemble, chosen)),
    page.members.length === 0
      ? h('p', {class: 'empty'}, chosen ? `No member is ${chosen}.` : 'There are no more members.')
      : h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Members'},
          h('table', {class: 'members'},
            h('thead', null, h('tr', null, HEADERS.map(word => h('th', {scope: 'col', class: NUMBERS.has(word) && 'number'}, word)))),
            h('tbody', null, page.members.map(member => row(id, member))))),
    h('nav', {class: 'pages', 'aria-label': 'Pages of members'},
      cursor && h('a', {href: inState(id, chosen)}, 'First'),
      page.next && h('a', {href: `#/ensembles/${id}?${more}`}, 'Next')));
}
