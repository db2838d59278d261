// The metrics of trainings as curves: those of one kind in one picture, along steps, samples or time.
import {h} from '../widgets/dom.js';
import {curves} from '../widgets/curves.js';
import {count, finite} from '../data/format.js';
import {marksAlong} from './generations.js';
import {beginOf, samplesBy} from './sample_flow.js';

export const AXES = ['step', 'samples', 'time'];

export const axisOf = parameters => (AXES.includes(parameters.get('x')) ? parameters.get('x') : 'step');

// The address of the page with other parameters.
export const addressOf = (id, parameters, changes) => {
  const query = new URLSearchParams(parameters);
  for (const [name, value] of Object.entries(changes))
    value === null || value === '' ? query.delete(name) : query.set(name, value);
  return `#/ensembles/${id}/training${query.size > 0 ? `?${query}` : ''}`;
};

// Puts ranges of steps into places on the axis; if several come to the same place, the extremes stay.
function tableOf(one, name, axis, isLog) {
  const {buckets} = one.series[name],
    by = axis === 'samples' && samplesBy(one.moments),
    begun = beginOf(one);
  const positive = value => (isLog && value <= 0 ? null : finite(value));
  const place = bucket => {
    const time = Date.parse(bucket.last_time ?? bucket.time) / 1000;
    return axis === 'step' ? (bucket.step + bucket.last_step) / 2 : by ? by(time) : time - begun;
  };
  const points = [];
  for (const bucket of [...buckets]
    .map(b => ({x: place(b), y: positive(b.last), min: positive(b.min), max: positive(b.max)}))
    .sort((a, b) => a.x - b.x)) {
    const former = points.at(-1);
    if (former && bucket.x <= former.x) {
      former.y = bucket.y;
      former.min = former.min === null ? bucket.min : Math.min(former.min, bucket.min ?? Infinity);
      former.max = former.max === null ? bucket.max : Math.max(former.max, bucket.max ?? -Infinity);
    } else points.push(bucket);
  }
  return {x: points.map(p => p.x), y: points.map(p => p.y), min: points.map(p => p.min), max: points.map(p => p.max)};
}

// "train_loss" and "validation_loss" are losses: one picture.
const groupOf = name => name.split(/[_/.:]/).at(-1);

export function groups(all) {
  const names = [...new Set(all.flatMap(({series}) => Object.keys(series)))].sort(),
    found = new Map();
  for (const name of names) found.set(groupOf(name), [...(found.get(groupOf(name)) ?? []), name]);
  return [...found].sort(([a], [b]) => (b === 'loss') - (a === 'loss')); // losses first
}

// Losses are looked at by their logarithm, unless it is said otherwise, if they are all positive and of different
// sizes.
function wantsLog(tables, parameters) {
  const said = parameters.get('log');
  const values = tables
    .flatMap(({lines}) => lines.flatMap(line => [...line.min, ...line.max]))
    .filter(value => value !== null);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity),
    high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return said !== null ? said === '1' : low > 0 && high / low > 20;
}

function marksOf(one, names, axis) {
  const buckets = names.flatMap(name => one.series[name]?.buckets ?? []).sort((a, b) => a.step - b.step);
  return marksAlong(axis, one, {begun: beginOf(one), by: axis === 'samples' && samplesBy(one.moments), buckets});
}

export function metricCurves([group, names], all, id, parameters) {
  const axis = axisOf(parameters),
    isAlone = all.length === 1;
  const make = isLog =>
    all.flatMap((one, i) =>
      names
        .filter(name => one.series[name]?.buckets.length > 0)
        .map((name, j) => {
          const {x, ...values} = tableOf(one, name, axis, isLog);
          return {
            x,
            lines: [
              {label: isAlone ? name : `${name} of #${one.ensemble.id}`, colour: isAlone ? j : i, dash: j, ...values},
            ],
          };
        }),
    );
  const linear = make(false),
    isLog = wantsLog(linear, parameters);
  const lost = all.reduce(
    (sum, one) =>
      names.reduce((n, name) => n + (one.series[name]?.buckets ?? []).reduce((m, b) => m + b.not_finite, 0), sum),
    0,
  );
  return curves(`metric ${group}`, {
    title: names.length === 1 ? names[0] : group,
    x: axis,
    y: 'number',
    isLog,
    tables: isLog ? make(true) : linear,
    marks: isAlone ? marksOf(all[0], names, axis) : [],
    about: [
      isLog ? 'logarithmic' : 'linear',
      lost > 0 &&
        h('span', {class: 's-failed'}, `, ${count(lost)} ${lost === 1 ? 'value is' : 'values are'} not finite`),
    ],
    onZoom: axis === 'step' ? (from, to) => (location.hash = addressOf(id, parameters, {from, to})) : null,
  });
}
