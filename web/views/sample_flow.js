// The ranks' reports over time, as curves: samples in and out, the buffers, and whether ranks or members wait.
import {curves} from '../widgets/curves.js';
import {count} from '../data/format.js';

const at = moment => Date.parse(moment.time) / 1000;

// When each generation after the first began, in seconds since `begun`.
const marksOf = (moments, begun) =>
  moments
    .filter((moment, i) => i > 0 && moment.generation !== moments[i - 1].generation)
    .map(moment => ({x: at(moment) - begun, words: count(moment.generation)}));

// When it began, in seconds: what its ranks told just before they could all be reached is not before that.
export function beginOf({ensemble: {training}, series, moments}) {
  const told = Object.values(series)
    .map(({buckets}) => buckets[0]?.time)
    .filter(Boolean);
  const times = [training.started ?? training.created, ...told, ...moments.slice(0, 1).map(({time}) => time)];
  return Math.min(...times.map(time => Date.parse(time))) / 1000;
}

// Returns the growth of a counter between two moments, a second; null over the end of a generation, after which it
// begins at 0.
function rates(moments, counter) {
  return moments.map((moment, i) => {
    const former = moments[i - 1];
    if (!former || former.generation !== moment.generation) return null;
    return Math.max(0, (counter(moment) - counter(former)) / (at(moment) - at(former)));
  });
}

const used = moment => moment.drawn + moment.repeats;

// Samples that had gone into batches by then, over all generations: a function of the time.
export function samplesBy(moments) {
  const known = [];
  let before = 0;
  moments.forEach((moment, i) => {
    if (i > 0 && moment.generation !== moments[i - 1].generation) before += used(moments[i - 1]);
    known.push([at(moment), before + used(moment)]);
  });
  return time => {
    const i = known.findIndex(([later]) => later >= time);
    if (i === -1) return known.at(-1)?.[1] ?? 0;
    if (i === 0) return known[0][0] > time ? 0 : known[0][1];
    const [[t0, n0], [t1, n1]] = [known[i - 1], known[i]];
    return n0 + ((n1 - n0) * (time - t0)) / (t1 - t0);
  };
}

const line = (label, colour, y, dash = 0) => ({label, colour, dash, y});

export function historyCurves(one) {
  const {moments} = one,
    begun = beginOf(one),
    x = moments.map(moment => at(moment) - begun),
    marks = marksOf(moments, begun);
  const of = name => moments.map(moment => moment[name]);
  const share = name =>
    rates(moments, moment => moment[name] / moment.ranks).map(rate =>
      rate === null ? null : Math.min(100, 100 * rate),
    );
  const plot = (key, title, y, lines, more) =>
    curves(key, {
      title,
      x: 'time',
      y,
      marks,
      tables: [{x, lines}],
      range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1],
      ...more,
    });
  return [
    plot('flow', 'Samples a second', 'number', [
      line(
        'received',
        0,
        rates(moments, moment => moment.received),
      ),
      line('into batches', 1, rates(moments, used), 1),
    ]),
    plot('buffer', 'Samples in the buffer', 'samples', [
      line('all', 0, of('population')),
      line('never drawn yet', 1, of('unseen'), 1),
      {...line('capacity', 5, of('capacity'), 2), isThin: true},
    ]),
    plot(
      'waits',
      'Waiting, of the time',
      'percent',
      [
        line('the training waits for samples', 1, share('sample_wait_seconds')),
        line('members wait for room', 0, share('room_wait_seconds'), 1),
      ],
      {range: () => [0, 100]},
    ),
  ];
}
