// A table whose rows become blocks of names and values on a narrow screen.
import {h} from './dom.js';

const NUMBERS = new Set([
  'took',
  'CPU time',
  'memory',
  'step',
  'size',
  'ranks',
  'batches',
  'received',
  'in the buffer',
  'never drawn',
  'waited for samples',
  'waited for room',
  'reached',
  'promoted',
  'ran on',
  'stopped',
  'on their way',
  'best',
]);
const TEXTS = new Set(['how it ended', 'path', 'use']);

const classOf = name => (NUMBERS.has(name) ? 'number' : TEXTS.has(name) && 'wide');

// name: the header above it
export const cell = (name, content) =>
  h('td', {class: classOf(name), 'data-label': name}, Array.isArray(content) ? h('span', null, content) : content);

export function stacked(label, headers, rows) {
  const head = headers.map(word => h('th', {scope: 'col', class: classOf(word)}, word));
  return h(
    'div',
    {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label},
    h('table', {class: 'stacked'}, h('thead', null, h('tr', null, head)), h('tbody', null, rows)),
  );
}
