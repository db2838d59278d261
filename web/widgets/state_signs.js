// A state as a sign beside its colour, and members by state in words and as a bar.
import {h, svg} from './dom.js';
import {count} from '../data/format.js';
import {MEMBERS, SIGNS} from '../data/states.js';

export const sign = state => h('span', {class: `sign s-${state}`, 'aria-hidden': 'true'}, SIGNS[state] ?? '·');

export const swatch = state => svg('svg', {class: `swatch s-${state}`, 'aria-hidden': 'true'},
  svg('rect', {width: '100%', height: '100%', rx: '3'}));

export const pill = state => h('span', {class: `pill s-${state}`}, sign(state), ' ', state);

export const inWords = members =>
  MEMBERS.filter(state => members[state] > 0).map(state => `${count(members[state])} ${state}`).join(', ');

// A bar of how many members are in which state, whose parts are all wide enough to be seen.
export function bar(members, total) {
  const parts = MEMBERS.filter(state => members[state] > 0);
  const least = 0.6, room = 100 - least * parts.length;
  let x = 0;
  const rects = parts.map(state => {
    const width = least + (room * members[state]) / total;
    x += width;
    return svg('rect', {class: `s-${state}`, x: `${x - width}%`, width: `${width}%`, height: '100%'});
  });
  return svg('svg', {class: 'bar', role: 'img', 'aria-label': inWords(members) || 'no member yet'}, rects);
}
