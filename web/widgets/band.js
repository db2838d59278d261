// A metric as a curve: the band between the least and the greatest value of each range of steps, and the last value in
// it. The table beside it says the same.
import {h, svg, foreign} from './dom.js';
import {count, finite, number} from '../data/format.js';

const WIDTH = 320, HEIGHT = 96;

// Losses are looked at by their logarithm if they are all positive and of different sizes.
function scaleOf(buckets) {
  const low = Math.min(...buckets.map(b => b.min)), high = Math.max(...buckets.map(b => b.max));
  const isLog = low > 0 && high / low > 20, f = isLog ? Math.log : x => x;
  const span = f(high) - f(low) || 1;
  return {isLog, low, high, y: value => HEIGHT - ((f(value) - f(low)) / span) * HEIGHT};
}

function paths(buckets, {y}) {
  const first = buckets[0].step, span = buckets.at(-1).last_step - first || 1;
  const x = b => (((b.step + b.last_step) / 2 - first) / span) * WIDTH,
    at = (b, value) => `${x(b).toFixed(1)},${y(value).toFixed(1)}`;
  return [
    svg('polygon', {class: 'band',
      points: [...buckets.map(b => at(b, b.max)), ...[...buckets].reverse().map(b => at(b, b.min))].join(' ')}),
    svg('polyline', {class: 'curve', points: buckets.filter(b => finite(b.last) !== null).map(b => at(b, b.last))
      .join(' ')}),
  ];
}

function table(buckets) {
  const shown = buckets.slice(-10);
  return h('details', null, h('summary', null, 'As a table'),
    h('table', null,
      h('thead', null, h('tr', null,
        ['steps', 'last', 'least', 'greatest'].map(word => h('th', {scope: 'col'}, word)))),
      h('tbody', null, shown.map(b => h('tr', null,
        h('td', null, b.step === b.last_step ? count(b.step) : `${count(b.step)}–${count(b.last_step)}`),
        [b.last, b.min, b.max].map(value => h('td', null, number(value))))))));
}

export function band(name, {buckets}) {
  const finite = buckets.filter(b => b.min !== null), lost = buckets.reduce((sum, b) => sum + b.not_finite, 0);
  if (buckets.length === 0) return null;
  const scale = finite.length > 0 && scaleOf(finite), steps = [buckets[0].step, buckets.at(-1).last_step];
  return h('figure', {class: 'chart', 'data-key': name},
    h('figcaption', null, foreign(name), h('b', null, number(buckets.at(-1).last))),
    scale && svg('svg', {viewBox: `0 -3 ${WIDTH} ${HEIGHT + 6}`, preserveAspectRatio: 'none', role: 'img',
      'aria-label': `from ${number(scale.low)} to ${number(scale.high)}`}, paths(finite, scale)),
    h('p', {class: 'quiet'},
      scale && `${number(scale.low)} to ${number(scale.high)}${scale.isLog ? ', logarithmic' : ''}; `
        + `steps ${count(steps[0])} to ${count(steps[1])}`,
      lost > 0 && h('span', {class: 's-failed'},
        `${scale ? '; ' : ''}${count(lost)} ${lost === 1 ? 'value is' : 'values are'} not finite`)),
    table(buckets));
}
