// The filter of members in words: what of it can be taken away, and the same as a command.
import {h, foreign} from '../widgets/dom.js';
import {count} from '../data/format.js';
import {addressOf, asText, commandOf, isRange, requestOf} from '../data/member_filter.js';
import {sign} from '../widgets/state_signs.js';
import {visible} from '../data/text.js';

// A condition in words for people.
function conditionInWords(name, value) {
  if (!isRange(value)) return [foreign(name), ' = ', foreign(asText(value))];
  const [low, high] = value;
  if (low === null) return [foreign(name), ` ≤ ${high}`];
  if (high === null) return [foreign(name), ` ≥ ${low}`];
  return [foreign(name), ` from ${low} to ${high}`];
}

// Shows the parts of the filter, each with a button that removes it.
function chips(id, parameters, filter) {
  const {states, from, to, where, host, cause} = filter, list = [];
  const add = (key, words, changes, name) => list.push(h('li', {'data-key': key}, words,
    h('a', {class: 'away', href: addressOf(id, parameters, changes), 'aria-label': `Without ${name}`}, '×')));
  for (const state of states)
    add(state, [sign(state), ' ', state], {states: states.filter(other => other !== state)}, `“${state}”`);
  if (from !== null || to !== null) {
    const words = to === null ? `from ${id}.${from} on` : from === null ? `up to ${id}.${to}`
      : `${id}.${from} to ${id}.${to}`;
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
