// The training of an ensemble: how far it is, what it waits for, and its latest metrics.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {chart} from './chart.js';
import {pill} from './states.js';

export const loadMetrics = training => (training ? api.get(`v1/trainings/${training.id}/metrics?buckets=160&limit=12`) : null);

export function facts(pairs) {
  return h('dl', {class: 'facts'}, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => h('div', {'data-key': name}, h('dt', null, name), h('dd', null, value))));
}

export function figures(training) {
  return facts([
    ['samples received', format.count(training.received)],
    ['of which duplicates', training.duplicates > 0 ? format.count(training.duplicates) : null],
    ['drawn at least once', format.count(training.drawn)],
    ['batches', format.count(training.batches)],
    ['samples a second', training.samples_per_second === null ? null : format.number(training.samples_per_second)],
    ['ranks', `${format.count(training.ranks)}, generation ${format.count(training.generation)}`],
    ['missing steps', training.missing && training.missing.steps > 0 ? `${format.count(training.missing.steps)} of ${format.count(training.missing.members)} members` : null],
  ]);
}

export const whyOf = training => training.reason ?? training.waits_for;

export function output(training) {
  return h('p', {class: 'quiet'}, 'Output of rank 0: ',
    ['stdout', 'stderr'].map(stream => [h('a', {href: api.url(`v1/trainings/${training.id}/${stream}`), target: '_blank', rel: 'noopener'}, stream), ' ']));
}

export function trainingView(training, metrics) {
  if (!training) return null;
  const series = Object.entries(metrics?.series ?? {}), why = whyOf(training);
  return h('section', {class: 'panel', 'aria-labelledby': 'training'},
    h('div', {class: 'panel-head'}, h('h2', {id: 'training'}, 'Training ', pill(training.state)),
      h('a', {href: `#/ensembles/${training.ensemble}/training`}, 'Curves, buffer and waits')),
    why && h('p', null, foreign(why)),
    figures(training),
    series.length > 0 && h('div', {class: 'charts'}, series.map(([name, one]) => chart(name, one))),
    output(training));
}
