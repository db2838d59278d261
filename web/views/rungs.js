// Early stopping: the rungs of an ensemble, and how many members have reached each.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {count, number} from '../data/format.js';
import {cell, stacked} from '../widgets/stacked_table.js';

// Null before a member has reached one, and if members are not stopped early.
export const loadRungs = ({id, rung}) => (rung === null ? null : api.get(`v1/ensembles/${id}/rungs`));

const RULES = {
  asha: ({reduction}) => `members pause at a rung, and the best 1/${reduction} of those there are promoted`,
  'asha-stop': ({reduction}) =>
    `a member runs on if it is among the best 1/${reduction} of those that have reached the rung`,
  median: () => "a member runs on unless its best value is worse than the median of the others'",
};

// A member that never pauses is not promoted.
const nameOf = rule => (rule === 'asha' ? 'promoted' : 'ran on');

function row(id, rule, {rung, step, arrived, promoted, stopped, under_way, best}, isLast) {
  return h(
    'tr',
    {'data-key': rung},
    h('th', {scope: 'row'}, rung),
    cell('step', count(step)),
    cell('reached', count(arrived)),
    cell(nameOf(rule), isLast ? null : count(promoted)),
    cell('stopped', isLast ? null : count(stopped)),
    cell('on their way', count(under_way)),
    cell('best', best && number(best.value)),
    cell('by', best && h('a', {href: `#/ensembles/${id}/members/${best.index}`}, `${id}.${best.index}`)),
  );
}

export function rungsView({id}, told) {
  if (told === null) return null;
  const {rule, metric, goal, rungs} = told,
    shown = rungs.filter(({arrived, under_way}) => arrived > 0 || under_way > 0),
    more = rungs.length - shown.length,
    names = ['rung', 'step', 'reached', nameOf(rule), 'stopped', 'on their way', 'best', 'by'];
  return h(
    'section',
    {class: 'panel', 'data-key': 'rungs', 'aria-labelledby': 'rungs'},
    h('h2', {id: 'rungs'}, 'Rungs'),
    h('p', {class: 'quiet'}, 'By ', foreign(metric),
      `, of which ${goal === 'min' ? 'less' : 'more'} is better: ${RULES[rule](told)}.`),
    stacked('Table of rungs', names, shown.map(one => row(id, rule, one, one.rung === rungs.length))),
    more > 0 && h('p', {class: 'quiet'}, `${count(more)} more, up to step ${count(rungs.at(-1).step)}`),
  );
}
