// All ensembles, the newest first or sorted, as cards or as a table, and before them what needs somebody.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {inShort, sortings, valueOf} from './ensemble_columns.js';
import * as format from '../data/format.js';
import {addressOf, currentChoice, isFiltered, queryOf, readChoice, STATES} from '../data/ensemble_choice.js';
import {adaptersView, loadTroubled, needs} from './needs.js';
import {sentence} from '../widgets/sentence.js';
import {bar, inWords, pill, sign} from '../widgets/state_signs.js';
import {table} from './ensemble_table.js';

const PAUSE = 250; // after a letter was typed

function pace(ensemble) {
  if (ensemble.ended !== null)
    return h('span', {title: format.moment(ensemble.ended)}, `ended ${format.age(ensemble.ended)}`);
  if (ensemble.eta) return h('span', {title: format.moment(ensemble.eta)},
    `${format.rate(ensemble.rate)}, done ${format.until(ensemble.eta)}`);
  return h('span', null, ensemble.notice ? sentence(ensemble.notice.text) : 'no estimate yet');
}

function card(ensemble, {sort, isTroubled}) {
  return h('li', {class: 'card', 'data-key': ensemble.id},
    h('div', {class: 'card-head'},
      h('a', {class: 'card-title', href: `#/ensembles/${ensemble.id}`}, foreign(ensemble.name), ' ',
        h('span', {class: 'id'}, `#${ensemble.id}`)),
      pill(ensemble.state)),
    isTroubled && h('p', {'data-key': 'trouble'}, sentence(ensemble.trouble)),
    bar(ensemble.members, ensemble.count),
    h('p', {class: 'quiet card-foot'},
      h('span', null, inWords(ensemble.members) || 'no member yet'),
      pace(ensemble),
      sort?.includes(':') && h('span', null, foreign(sort.slice(sort.indexOf(':') + 1)),
        ` ${sort.slice(0, sort.indexOf(':'))} ${inShort(valueOf(ensemble, sort))}`),
      h('span', {title: format.moment(ensemble.created)}, `submitted ${format.age(ensemble.created)}`)));
}

function empty(choice) {
  if (isFiltered(choice) || choice.cursor !== null)
    return h('div', {class: 'empty', 'data-key': 'none'},
      h('p', null, choice.cursor !== null ? 'There are no more ensembles.' : 'No ensemble is like that.'),
      h('p', null, h('a', {href: addressOf(choice, {states: [], name: '', isTroubled: false})}, 'All ensembles')));
  return h('div', {class: 'empty', 'data-key': 'empty'},
    h('p', null, 'There is no ensemble yet.'),
    h('pre', null, 'stretto submit spec.json'));
}

let typing = null; // a timer, while what is typed has not been looked for

// A field that searches for the typed name once typing pauses, without an entry in the browser's history for each
// letter. If the address changes by itself, the field follows.
function nameField(choice) {
  const field = document.getElementById('name');
  if (field && typing === null && field.value.trim() !== choice.name) field.value = choice.name;
  const look = (event, after) => {
    const name = event.target.value.trim();
    clearTimeout(typing);
    typing = name === choice.name ? null
      : setTimeout(() => ((typing = null), location.replace(addressOf(currentChoice(), {name}))), after);
  };
  return h('input', {id: 'name', type: 'search', maxlength: '255', placeholder: 'Find by name',
    'aria-label': 'Find ensembles by name',
    autocomplete: 'off', spellcheck: 'false', value: choice.name, oninput: event => look(event, PAUSE),
      onchange: event => look(event, 0)});
}

function stateField(choice) {
  const {states} = choice, toggled = state => (states.includes(state) ? states.filter(other => other !== state)
    : [...states, state]);
  return h('ul', {class: 'plain counts', 'aria-label': 'Ensembles by state'}, STATES.map(state =>
    h('li', {'data-key': state},
      h('a', {href: addressOf(choice, {states: toggled(state)}), 'aria-current': states.includes(state) && 'true'},
        sign(state), ' ', state))));
}

function sortField(choice, ensembles) {
  const list = sortings(choice, ensembles), {sort, order} = choice;
  const sorted = event => {
    const found = list.find(({key}) => key === event.target.value);
    location.hash = addressOf(choice, {sort: found?.key ?? null, order: found?.first ?? null});
  };
  return h('span', {class: 'sorting'},
    h('label', null, 'Sort by ',
      h('select', {id: 'sort', onchange: sorted}, h('option', {value: '', selected: sort === null}, 'newest'),
      list.map(({key, words}) => h('option', {value: key, selected: key === sort}, words)))),
    sort !== null && h('a', {id: 'order', href: addressOf(choice, {order: order === 'asc' ? 'desc' : 'asc'})},
      order === 'asc' ? 'ascending ↑' : 'descending ↓'));
}

function views(choice) {
  const as = (words, isTable) =>
    h('a', {href: addressOf(choice, {isTable}), 'aria-current': choice.isTable === isTable && 'true'}, words);
  return h('span', {class: 'segments', role: 'group', 'aria-label': 'View'}, as('Cards', false), as('Table', true));
}

function tools(choice, ensembles) {
  return h('div', {class: 'toolbar listing', 'data-key': 'tools', role: 'group',
    'aria-label': 'Which ensembles, and how'},
    nameField(choice), stateField(choice),
    choice.isTroubled ? h('a', {class: 'chip', 'data-key': 'troubled', href: addressOf(choice, {isTroubled: false}),
      title: 'All ensembles'}, 'Needs a person ×') : sortField(choice, ensembles));
}

function list(ensembles, choice) {
  if (ensembles.length === 0) return empty(choice);
  return choice.isTable ? table(ensembles, choice) : h('ul', {class: 'plain cards', 'aria-label': 'All ensembles'},
    ensembles.map(one => card(one, choice)));
}

async function load(choice) {
  const query = queryOf(choice);
  const [page, adapters, troubled] =
    await Promise.all([api.get(`v1/ensembles?${query}`), api.get('v1/adapters'), loadTroubled(choice)]);
  return {...page, query, adapters, troubled};
}

function render({ensembles, next, query, adapters, troubled}, choice) {
  const isNothing = ensembles.length === 0 && !isFiltered(choice) && choice.cursor === null;
  return [
    h('div', {class: 'head', 'data-key': 'title'}, h('h1', {tabindex: '-1'}, 'Ensembles'), !isNothing && views(choice)),
    needs(troubled, adapters, choice),
    adaptersView(adapters),
    !isNothing && tools(choice, ensembles),
    h('div', {'data-key': 'list', 'aria-busy': query !== queryOf(choice) && 'true'}, list(ensembles, choice)),
    h('nav', {class: 'pages', 'data-key': 'pages', 'aria-label': 'Pages'},
      choice.cursor !== null && h('a', {href: addressOf(choice, {cursor: null})}, choice.sort === null ? 'Newest'
        : 'First'),
      next && h('a', {href: addressOf(choice, {cursor: next})}, choice.sort === null ? 'Older' : 'Next')),
  ];
}

export function overview(parameters) {
  const choice = readChoice(parameters);
  return {
    title: 'Ensembles',
    events: 'v1/events',
    every: 10000,
    key: 'ensembles',
    load: () => load(choice),
    render: data => render(data, choice),
  };
}
