// The training of an ensemble: how far it is, what it waits for, and its latest metrics.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {band} from '../widgets/band.js';
import {pill} from '../widgets/state_signs.js';

export const loadMetrics = training => (training ? api.get(`v1/trainings/${training.id}/metrics?buckets=160&limit=12`)
  : null);

export function facts(pairs) {
  return h('dl', {class: 'facts'}, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => h('div', {'data-key': name}, h('dt', null, name), h('dd', null, value))));
}

function ranksOf({ranks, wanted_ranks: wanted, generation}) {
  const asked = wanted === null ? '' : ` (${format.count(wanted)} wanted)`;
  return `${format.count(ranks)}${asked}, generation ${format.count(generation)}`;
}

// Says how many generations failed; each failure costs a retry.
function failuresOf({failures, retries_left: left}) {
  if (left === null) return failures > 0 ? format.count(failures) : null;
  const retries = `${format.count(left)} ${left === 1 ? 'retry' : 'retries'} left`;
  return `${failures === 0 ? 'none' : format.count(failures)}, ${retries}`;
}

function checkpointOf({checkpoint}) {
  return checkpoint && [`step ${format.count(checkpoint.step)}, `,
    h('time', {datetime: checkpoint.time, title: format.moment(checkpoint.time)}, format.age(checkpoint.time))];
}

export function figures(training) {
  return facts([
    ['samples received', format.count(training.received)],
    ['of which duplicates', training.duplicates > 0 ? format.count(training.duplicates) : null],
    ['skipped by members that ran again', training.skipped > 0 ? format.count(training.skipped) : null],
    ['drawn at least once', format.count(training.drawn)],
    ['batches', format.count(training.batches)],
    ['samples a second', training.samples_per_second === null ? null : format.number(training.samples_per_second)],
    ['ranks', ranksOf(training)],
    ['failures', failuresOf(training)],
    ['ranks begun again in place', training.restarts > 0 ? format.count(training.restarts) : null],
    ['last checkpoint', checkpointOf(training)],
    ['missing steps', training.missing && training.missing.steps > 0
      ? `${format.count(training.missing.steps)} of ${format.count(training.missing.members)} members` : null],
  ]);
}

export const whyOf = training => training.reason ?? training.waits_for
  ?? (training.before && `Before: ${training.before}`);

export function output(training) {
  return h('p', {class: 'quiet'}, 'Output of rank 0: ',
    ['stdout', 'stderr'].map(
      stream => [h('a', {href: api.url(`v1/trainings/${training.id}/${stream}`), target: '_blank', rel: 'noopener'},
        stream), ' ']));
}

export function trainingSummary(training, metrics) {
  if (!training) return null;
  const series = Object.entries(metrics?.series ?? {}), why = whyOf(training);
  return h('section', {class: 'panel', 'aria-labelledby': 'training'},
    h('div', {class: 'panel-head'}, h('h2', {id: 'training'}, 'Training ', pill(training.state)),
      h('a', {href: `#/ensembles/${training.ensemble}/training`}, 'Curves, buffer and waits')),
    why && h('p', null, foreign(why)),
    figures(training),
    series.length > 0 && h('div', {class: 'charts'}, series.map(([name, one]) => band(name, one))),
    output(training));
}
