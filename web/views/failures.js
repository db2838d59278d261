// The reasons why attempts failed, by cause, with the latest of each and the last lines that it printed.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {count} from '../data/format.js';
import {sign} from '../widgets/state_signs.js';
import {visible} from '../data/text.js';

export const loadFailures = id => api.get(`v1/ensembles/${id}/failures?limit=10`);

const OTHER = '(other causes)'; // not a cause by which members can be found

const many = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

function exampleOf(id, {member, attempt, reason, stderr}) {
  const name = `${id}.${member}`, address = `#/ensembles/${id}/members/${member}?attempt=${attempt}`;
  return [
    h('p', {class: 'quiet'}, 'such as ', h('a', {href: address}, name), reason && [': ', foreign(reason)]),
    stderr && h('details', null, h('summary', null, `The last lines of ${name}`),
      h('pre', {class: 'output', dir: 'auto'}, visible(stderr))),
  ];
}

function cause(id, {cause, outcome, members, attempts, example}) {
  return h('li', {'data-key': `${outcome} ${cause}`}, sign(outcome), h('div', null,
    h('p', null, h('b', null, cause === OTHER ? many(members, 'member')
      : h('a', {href: `#/ensembles/${id}?${new URLSearchParams({cause})}`}, many(members, 'member'))),
        attempts > members && ` in ${many(attempts, 'attempt')}`, ': ', foreign(cause)),
    example && exampleOf(id, example)));
}

export function failuresView({id}, {total, failures}) {
  if (failures.length === 0) return null;
  return h('section', {class: 'panel', 'aria-labelledby': 'failures'},
    h('h2', {id: 'failures'}, 'Why attempts failed'),
    h('ul', {class: 'plain causes'}, failures.map(one => cause(id, one))),
    total > failures.length && h('p', {class: 'quiet'}, `and ${count(total - failures.length)} more causes`));
}
