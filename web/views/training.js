// The training of an ensemble in detail: its metrics, alone or over those of others, and how samples flow.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {ranksForm, widthForm} from './controls.js';
import {ready} from '../widgets/curves.js';
import {count} from '../data/format.js';
import {generationsView, loadGenerations, trainingCheckpoints} from './generations.js';
import {historyCurves} from './sample_flow.js';
import {addressOf, AXES, axisOf, groups, metricCurves} from './metrics.js';
import {histogram, ranksView} from './ranks.js';
import {pill} from '../widgets/state_signs.js';
import {figures, output, whyOf} from './training_summary.js';

const BUCKETS = 600,
  MOMENTS = 300,
  SERIES = 24,
  MOST = 5; // trainings over one another

const othersOf = (id, parameters) =>
  (parameters.get('with') ?? '')
    .split(',')
    .filter(other => /^\d+$/.test(other) && other !== id)
    .slice(0, MOST);

function metricsOf(training, parameters) {
  const query = new URLSearchParams({buckets: BUCKETS, limit: SERIES});
  for (const name of ['from', 'to']) if (parameters.get(name)) query.set(name, parameters.get(name));
  return api.get(`v1/trainings/${training.id}/metrics?${query}`);
}

async function loadOne(id, parameters) {
  const ensemble = await api.get(`v1/ensembles/${id}`),
    {training} = ensemble;
  if (!training) return {ensemble, series: {}, moments: [], generations: []};
  const [{series}, {moments}, more] = await Promise.all([
    metricsOf(training, parameters),
    api.get(`v1/trainings/${training.id}/history?moments=${MOMENTS}`),
    loadGenerations(training),
  ]);
  return {ensemble, series, moments, ...more};
}

async function load(id, parameters) {
  const [all, {ensembles}] = await Promise.all([
    Promise.all([id, ...othersOf(id, parameters)].map(one => loadOne(one, parameters))),
    api.get('v1/ensembles?limit=50'),
    ready(),
  ]);
  const {training} = all[0].ensemble;
  const ranks = training ? (await api.get(`v1/trainings/${training.id}/ranks`)).ranks : [];
  return {
    all,
    ranks,
    candidates: ensembles.filter(one => one.training && !all.some(({ensemble}) => ensemble.id === one.id)),
  };
}

function choice(id, parameters, name, current, options) {
  return h(
    'span',
    {class: 'segments', role: 'group', 'aria-label': name},
    options.map(([words, changes, key]) =>
      h('a', {href: addressOf(id, parameters, changes), 'aria-current': key === current && 'true'}, words),
    ),
  );
}

function comparison(id, all, candidates, parameters) {
  const others = othersOf(id, parameters),
    withOnly = list => addressOf(id, parameters, {with: list.join(',')});
  return [
    all
      .slice(1)
      .map(({ensemble}) =>
        h(
          'a',
          {
            class: 'chip',
            'data-key': `with ${ensemble.id}`,
            href: withOnly(others.filter(other => other !== String(ensemble.id))),
            title: 'Compare no longer',
          },
          foreign(ensemble.name),
          ` #${ensemble.id} ×`,
        ),
      ),
    candidates.length > 0 &&
      others.length < MOST &&
      h(
        'label',
        null,
        'Compare with ',
        h(
          'select',
          {
            id: 'with',
            onchange: ({target}) => {
              const chosen = target.value;
              target.value = '';
              if (chosen) location.hash = withOnly([...others, chosen]);
            },
          },
          h('option', {value: '', selected: true}, 'another…'),
          candidates.map(one => h('option', {value: one.id}, `#${one.id} ${one.name}`)),
        ),
      ),
  ];
}

function bar(parameters, id, all, candidates) {
  const axis = axisOf(parameters),
    from = parameters.get('from'),
    to = parameters.get('to');
  return h(
    'div',
    {class: 'toolbar'},
    choice(
      id,
      parameters,
      'Along the axis',
      axis,
      AXES.map(name => [name, {x: name === 'step' ? null : name}, name]),
    ),
    choice(id, parameters, 'Scale', parameters.get('log') ?? 'auto', [
      ['automatic', {log: null}, 'auto'],
      ['logarithmic', {log: '1'}, '1'],
      ['linear', {log: '0'}, '0'],
    ]),
    (from || to) &&
      h(
        'a',
        {class: 'chip', href: addressOf(id, parameters, {from: null, to: null})},
        `steps ${from ?? 0} to ${to ?? 'the last'} ×`,
      ),
    comparison(id, all, candidates, parameters),
  );
}

function head(ensemble, id, {isOperator, act}) {
  const isOpen = ensemble.ended === null && ['running', 'paused'].includes(ensemble.state);
  return [
    h(
      'nav',
      {class: 'crumbs', 'aria-label': 'Where this is'},
      h('a', {href: '#/'}, 'Ensembles'),
      ' / ',
      h('a', {href: `#/ensembles/${id}`}, `#${id}`),
      ' / ',
    ),
    h(
      'div',
      {class: 'head'},
      h('h1', {tabindex: '-1'}, 'Training of ', foreign(ensemble.name), ' ', h('span', {class: 'id'}, `#${id}`)),
      ensemble.training && pill(ensemble.training.state),
      isOperator &&
        isOpen &&
        h('div', {class: 'controls', role: 'group', 'aria-label': 'Change this ensemble'}, [
          widthForm(ensemble, act),
          ensemble.training && ensemble.training.ended === null && ranksForm(ensemble.training, act),
        ]),
    ),
  ];
}

const wantedRanks = ({ranks, wanted_ranks: wanted, generation}) =>
  `Generation ${count(generation + 1)} will have ${count(wanted)} ${wanted === 1 ? 'rank' : 'ranks'}, ` +
  `as soon as the ${count(ranks)} of now ${ranks === 1 ? 'has' : 'have'} saved a last checkpoint.`;

function render({all, ranks, candidates}, id, parameters, context) {
  const [{ensemble}] = all,
    {training} = ensemble,
    metrics = groups(all);
  if (!training) return [head(ensemble, id, context), h('p', {class: 'empty'}, 'This ensemble has no training.')];
  return [
    head(ensemble, id, context),
    whyOf(training) && h('p', {class: 'notice'}, foreign(whyOf(training))),
    training.wanted_ranks !== null && h('p', {class: 'notice', 'data-key': 'wanted'}, wantedRanks(training)),
    h('section', {class: 'panel', 'aria-label': 'Figures'}, figures(training), output(training)),
    h(
      'section',
      {class: 'panel', 'aria-labelledby': 'metrics'},
      h('div', {class: 'panel-head'}, h('h2', {id: 'metrics'}, 'Metrics'), bar(parameters, id, all, candidates)),
      metrics.length === 0
        ? h('p', {class: 'empty'}, 'It has reported no metric yet.')
        : h(
            'div',
            {class: 'plots'},
            metrics.map(group => metricCurves(group, all, id, parameters)),
          ),
    ),
    h(
      'section',
      {class: 'panel', 'aria-labelledby': 'flow'},
      h('h2', {id: 'flow'}, 'Samples'),
      h('div', {class: 'plots'}, historyCurves(all[0]), histogram(training, ranks)),
    ),
    generationsView(training, all[0]),
    trainingCheckpoints(training, all[0]),
    ranksView(training, ranks),
  ];
}

export function trainingView(id, parameters, context) {
  return {
    title: `Training of ensemble ${id}`,
    key: `training ${id}`,
    events: `v1/events?ensemble=${id}`,
    every: 5000,
    load: () => load(id, parameters),
    render: data => render(data, id, parameters, context),
  };
}
