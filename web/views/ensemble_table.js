// Ensembles as a table, sorted by any of its columns, and those of them that are compared.
import {h, foreign} from '../widgets/dom.js';
import {columnChooser, columnsOf, NAME} from './ensemble_columns.js';
import {addressOf, currentChoice} from '../data/ensemble_choice.js';
import {visible} from '../data/text.js';

export const MOST = 6; // trainings over one another

const ARROWS = {asc: '↑ ', desc: '↓ '},
  OTHER = {asc: 'desc', desc: 'asc'},
  WORDS = {asc: 'ascending', desc: 'descending'};

function header(column, choice) {
  const order = choice.sort === column.key ? choice.order : null;
  return h(
    'th',
    {scope: 'col', class: column.isNumber && 'number', 'aria-sort': order && WORDS[order], 'data-key': column.key},
    h(
      'a',
      {href: addressOf(choice, {sort: column.key, order: order === null ? column.first : OTHER[order]})},
      order && h('span', {'aria-hidden': 'true'}, ARROWS[order]),
      column.title,
    ),
  );
}

function chooser(ensemble, choice) {
  const id = String(ensemble.id),
    isChosen = choice.chosen.includes(id);
  if (!ensemble.training) return null;
  const toggle = event => {
    const now = currentChoice(),
      others = now.chosen.filter(other => other !== id);
    location.hash = addressOf(now, {chosen: event.target.checked ? [...others, id] : others});
  };
  return h('input', {
    type: 'checkbox',
    'aria-label': `Compare ${visible(ensemble.name)} #${id}`,
    checked: isChosen,
    disabled: !isChosen && choice.chosen.length >= MOST,
    onchange: toggle,
  });
}

const isComparable = ensembles => ensembles.some(({training}) => training);

function row(ensemble, choice, columns, hasChooser) {
  return h(
    'tr',
    {'data-key': ensemble.id},
    hasChooser && h('td', {class: 'choose'}, chooser(ensemble, choice)),
    h(
      'th',
      {scope: 'row', class: 'wide'},
      h('a', {href: `#/ensembles/${ensemble.id}`}, foreign(ensemble.name)),
      ' ',
      h('span', {class: 'id'}, `#${ensemble.id}`),
    ),
    columns.map(({key, title, words, isNumber, cell, about}) =>
      h(
        'td',
        {class: isNumber ? 'number' : `of-${key}`, 'data-key': key, 'data-label': words ?? title,
          title: about?.(ensemble)},
        cell(ensemble),
      ),
    ),
  );
}

function comparing({chosen}, choice) {
  const [first, ...others] = chosen,
    n = chosen.length;
  if (n === 0) return h('p', {class: 'quiet'}, 'Trainings that are chosen can be seen over one another.');
  return h(
    'p',
    {class: 'toolbar'},
    `${n} ${n === 1 ? 'training' : 'trainings'} chosen${n === MOST ? ', which is as many as there can be' : ''}: `,
    h(
      'a',
      {id: 'compare', href: `#/ensembles/${first}/training${n > 1 ? `?with=${others.join(',')}` : ''}`},
      n > 1 ? 'Compare their curves' : 'See its curves',
    ),
    h('a', {href: addressOf(choice, {chosen: []})}, 'Choose none'),
  );
}

export function table(ensembles, choice) {
  const columns = columnsOf(choice, ensembles);
  return h(
    'section',
    {class: 'panel', 'data-key': 'table', 'aria-label': 'Table of ensembles'},
    h(
      'div',
      {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Ensembles'},
      h(
        'table',
        {class: 'ensembles stacked'},
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            isComparable(ensembles) && h('td', {class: 'choose'}),
            [NAME, ...columns].map(column => header(column, choice)),
          ),
        ),
        h(
          'tbody',
          null,
          ensembles.map(ensemble => row(ensemble, choice, columns, isComparable(ensembles))),
        ),
      ),
    ),
    isComparable(ensembles) && comparing(choice, choice),
    columnChooser(choice, ensembles),
  );
}
