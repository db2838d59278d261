// The columns of the table of ensembles: what they are, how far they are, and figures of the metrics that their
// trainings report.
import {h, foreign} from '../widgets/dom.js';
import * as format from '../data/format.js';
import {addressOf, currentChoice} from '../data/ensemble_choice.js';
import {bar, inWords, pill} from '../widgets/state_signs.js';
import {openOf} from '../data/states.js';
import {visible} from '../data/text.js';

const FIGURES = ['last', 'min', 'max'];
const SHOWN = 2; // metrics, if nobody has chosen any

export const share = ({members, count}) => (count === 0 ? 0 : 1 - openOf(members) / count);

const progress = ensemble => [
  h('span', {class: 'share'}, format.share(share(ensemble))),
  bar(ensemble.members, ensemble.count),
];

const COLUMNS = [
  {key: 'state', title: 'state', first: 'asc', cell: ensemble => pill(ensemble.state)},
  {key: 'progress', title: 'progress', first: 'desc', cell: progress, about: ({members}) => inWords(members)},
  {
    key: 'rate',
    title: 'rate',
    first: 'desc',
    isNumber: true,
    cell: ({rate}) => format.rate(rate),
    about: ({eta}) => eta && `done ${format.until(eta)}`,
  },
  {
    key: 'created',
    title: 'submitted',
    first: 'desc',
    isNumber: true,
    cell: ({created}) => format.age(created),
    about: ({created}) => format.moment(created),
  },
];

export const NAME = {key: 'name', title: 'name', first: 'asc'};

const parts = key => [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];

// A figure of a metric; undefined if the training has not reported it, null if it is no finite number.
export function valueOf({training}, key) {
  const [figure, name] = parts(key);
  return figure === 'last' ? training?.metrics[name] : training?.metric_ranges[name]?.[figure];
}

export const inShort = value => (value === undefined ? '–' : format.number(value));

function metricColumn(key) {
  const [figure, name] = parts(key);
  return {
    key,
    title: [foreign(name), ' ', h('span', {class: 'quiet'}, figure)],
    words: `${figure} of ${visible(name)}`,
    first: 'asc',
    isNumber: true,
    cell: ensemble => inShort(valueOf(ensemble, key)),
    about: ensemble => (valueOf(ensemble, key) ?? null) !== null && String(valueOf(ensemble, key)),
  };
}

// The metrics that trainings of these ensembles report.
function namesOf(ensembles, keys) {
  const names = new Set(keys.map(key => parts(key)[1]));
  for (const {training} of ensembles) for (const name of Object.keys(training?.metrics ?? {})) names.add(name);
  return format.lossesFirst(names);
}

const sortedBy = ({sort}) => (sort !== null && sort.includes(':') ? [sort] : []);

function shownOf(choice, ensembles) {
  const [sort] = sortedBy(choice);
  const shown = choice.shown ?? namesOf(ensembles, []).slice(0, SHOWN).map(name => `last:${name}`);
  return sort === undefined || shown.includes(sort) ? shown : [...shown, sort];
}

export const columnsOf = (choice, ensembles) => [...COLUMNS, ...shownOf(choice, ensembles).map(metricColumn)];

// By which lists can be sorted: keys and words.
export function sortings(choice, ensembles) {
  const shown = shownOf(choice, ensembles).map(metricColumn);
  return [NAME, ...COLUMNS, ...shown].map(({key, title, words, first}) => ({key, words: words ?? title, first}));
}

// Shows which figures of which metrics are shown, and lets the user choose.
export function columnChooser(choice, ensembles) {
  const shown = shownOf(choice, ensembles),
    names = namesOf(ensembles, shown);
  const toggle = (key, isOn) => {
    const now = currentChoice(),
      others = shownOf(now, ensembles).filter(other => other !== key);
    location.hash = addressOf(now, {shown: isOn ? [...others, key] : others});
  };
  const box = (name, figure) => {
    const key = `${figure}:${name}`;
    return h('input', {
      type: 'checkbox',
      'aria-label': `${figure} of ${visible(name)}`,
      checked: shown.includes(key),
      disabled: choice.sort === key,
      onchange: event => toggle(key, event.target.checked),
    });
  };
  if (names.length === 0) return null;
  return h(
    'details',
    {'data-key': 'columns'},
    h('summary', null, 'Metrics shown'),
    h(
      'div',
      {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Metrics that can be shown'},
      h(
        'table',
        {class: 'figures'},
        h('thead', null, h('tr', null, ['metric', ...FIGURES].map(word => h('th', {scope: 'col'}, word)))),
        h(
          'tbody',
          null,
          names.map(name =>
            h(
              'tr',
              {'data-key': name},
              h('th', {scope: 'row'}, foreign(name)),
              FIGURES.map(figure => h('td', null, box(name, figure))),
            ),
          ),
        ),
      ),
    ),
  );
}
