// The grid as a table: how many members of each range are in which state. A range leads to its own ranges.
import {h} from '../widgets/dom.js';
import {countStates, NAMES, NO_MEMBER} from '../data/snapshot.js';
import {count} from '../data/format.js';
import {rangeInWords} from '../widgets/grid.js';
import {MEMBERS} from '../data/states.js';

const ROWS = 20;

// Ranges of a round size.
function sizeOf(n) {
  let size = 1;
  for (const factor of [2, 2.5, 2]) {
    if (n / size <= ROWS) break;
    size *= factor;
  }
  return n / size <= ROWS ? Math.ceil(size) : 10 * sizeOf(n / 10);
}

// isChosen(index): whether it counts. address(from, to): where a range leads.
export function rangesOf(states, {from, to}) {
  const end = Math.min(to + 1, states.length), size = sizeOf(end - from), ranges = [];
  for (let at = from; at < end; at += size) ranges.push({from: at, to: Math.min(at + size, end) - 1});
  return ranges;
}

export function rangesTable(id, states, chosen, isChosen, address) {
  const ranges = rangesOf(states, chosen);
  const row = ({from, to}) => {
    const counts = countStates(states, from, to + 1, isChosen), link = from === to ? `#/ensembles/${id}/members/${from}`
      : address(from, to);
    if (from === to && states[from] === NO_MEMBER) return null;
    return h('tr', {'data-key': from},
      h('th', {scope: 'row'}, h('a', {href: link}, rangeInWords(id, from, to))),
      MEMBERS.map(state => h('td', {class: 'number'}, count(counts[NAMES.indexOf(state)]))));
  };
  return h('table', {class: 'ranges'},
    h('thead', null, h('tr', null, h('th', {scope: 'col'}, 'members'),
      MEMBERS.map(state => h('th', {scope: 'col', class: 'number'}, state)))),
    h('tbody', null, ranges.map(row)));
}
