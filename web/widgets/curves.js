// Curves over one another, drawn by uPlot, which is asked for when the first is wanted. Each has a legend with the
// values under the pointer (or the last ones), and a table that says the same.
import {h, svg, foreign, island} from './dom.js';
import {count, duration, number} from '../data/format.js';

const HEIGHT = 240,
  ROWS = 12,
  COLOURS = 6;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const TIMES = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600,
];

let uPlot = null;
const drawn = new Set(); // elements with a plot

export async function ready() {
  uPlot ??= (await import('../vendor/uplot.js')).default;
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const element of drawn) element.plot.redraw();
});

const resized = new ResizeObserver(entries => {
  for (const {target, contentRect} of entries)
    if (contentRect.width > 0) target.plot?.setSize({width: contentRect.width, height: HEIGHT});
});

const colourOf = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();

// The forms of numbers along the axis, by the unit that it counts.
const TELL = {
  step: count,
  samples: count,
  time: seconds => duration(seconds),
  number: value => number(value),
  percent: value => `${number(value, 3)} %`,
};

function axis(element, kind, more) {
  return {
    stroke: () => colourOf(element, '--quiet'),
    font: '12px system-ui, sans-serif',
    grid: {stroke: () => colourOf(element, '--line'), width: 1},
    ticks: {stroke: () => colourOf(element, '--line'), width: 1},
    values: (_, at) => at.map(value => (value === null ? '' : TELL[kind](value))),
    ...more,
  };
}

// A line, and the band between its least and greatest values if these are known.
function seriesOf(element, line) {
  const stroke = () => colourOf(element, `--c${line.colour % COLOURS}`);
  const bound = {stroke: null, width: 0, points: {show: false}};
  return [
    {stroke, width: line.isThin ? 1 : 1.75, dash: DASHES[line.dash % DASHES.length], points: {show: false}},
    ...(line.max ? [bound, bound] : []),
  ];
}

const allLines = model => model.tables.flatMap(({lines}) => lines);

function bandsOf(element, model) {
  const bands = [];
  let at = 1;
  for (const line of allLines(model)) {
    if (line.max)
      bands.push({series: [at + 1, at + 2], fill: () => `${colourOf(element, `--c${line.colour % COLOURS}`)}2e`});
    at += line.max ? 3 : 1;
  }
  return bands;
}

const dataOf = model =>
  uPlot.join(model.tables.map(({x, lines}) => [x, ...lines.flatMap(({y, max, min}) => (max ? [y, max, min] : [y]))]));

// Draws where each generation of ranks began, with its number if there is room.
function drawMarks(plot, marks, colour) {
  const {ctx, bbox} = plot,
    ratio = devicePixelRatio;
  let free = bbox.left;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'left';
  ctx.setLineDash([3, 3]);
  for (const {x, words} of marks) {
    const at = Math.round(plot.valToPos(x, 'x', true)) + 0.5;
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    if (at < free || at + ctx.measureText(words).width > bbox.left + bbox.width) continue;
    ctx.fillText(words, at + 3 * ratio, bbox.top + 2 * ratio);
    free = at + ctx.measureText(words).width + 8 * ratio;
  }
  ctx.restore();
}

const lastOf = values => values.findLast(value => value !== null && value !== undefined);

// The value of a line at this place of the data, or before it if the line has none there.
function valueAt(values, at) {
  while (at > 0 && values[at] === undefined) at--;
  return values[at];
}

// Writes the legend: the values at this place of the data, or the last ones.
function tellValues(element, at) {
  const {model, plot} = element,
    spans = element.closest('figure').querySelectorAll('.legend b');
  let column = 1;
  allLines(model).forEach((line, i) => {
    const value = at === null || at === undefined ? lastOf(line.y) : valueAt(plot.data[column], at);
    if (spans[i])
      spans[i].textContent = value === undefined ? '' : value === null ? 'not finite' : TELL[model.y](value);
    column += line.max ? 3 : 1;
  });
}

function zoom(plot, onZoom) {
  const {left, width} = plot.select;
  if (width < 3) return;
  const [from, to] = [left, left + width].map(at => plot.posToVal(at, 'x'));
  plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
  onZoom(Math.max(0, Math.floor(from)), Math.ceil(to));
}

function make(element, model) {
  const options = {
    width: element.clientWidth || 300,
    height: HEIGHT,
    legend: {show: false},
    scales: {
      x: {time: false},
      y: model.isLog ? {distr: 3} : {range: model.range ?? ((_, low, high) => uPlot.rangeNum(low, high, 0.08, true))},
    },
    axes: [
      axis(element, model.x, model.x === 'time' ? {incrs: TIMES, space: 90} : {space: 70}),
      axis(element, model.y, {size: 66}),
    ],
    series: [{}, ...allLines(model).flatMap(line => seriesOf(element, line))],
    bands: bandsOf(element, model),
    cursor: {y: false, drag: {x: Boolean(model.onZoom), y: false}, points: {size: 6}},
    hooks: {
      setCursor: [plot => element.plot && tellValues(element, plot.cursor.idx)],
      setSelect: [plot => element.model.onZoom && zoom(plot, element.model.onZoom)],
      draw: [plot => drawMarks(plot, element.model.marks ?? [], colourOf(element, '--quiet'))],
    },
  };
  return new uPlot(options, dataOf(model), element);
}

function forget() {
  for (const element of drawn) {
    if (element.isConnected) continue;
    resized.unobserve(element);
    element.plot.destroy();
    drawn.delete(element);
  }
}

function draw(element, model) {
  const shape = JSON.stringify([
    model.x,
    model.y,
    model.isLog,
    allLines(model).map(({label, colour, dash, max}) => [label, colour, dash, Boolean(max)]),
  ]);
  forget();
  element.model = model;
  element.setAttribute('aria-label', `${model.title}: curves; the table below has their values`);
  if (element.shape === shape) element.plot.setData(dataOf(model));
  else {
    element.plot?.destroy();
    element.shape = shape;
    element.plot = make(element, model);
    drawn.add(element);
    resized.observe(element);
  }
  tellValues(element, element.plot.cursor.idx);
}

function sampleOf(length) {
  const n = Math.min(ROWS, length);
  return Array.from({length: n}, (_, i) => (n === 1 ? 0 : Math.round((i * (length - 1)) / (n - 1))));
}

const cell = (value, tell) => h('td', {class: 'number'}, value === null || value === undefined ? '–' : tell(value));

function tableOf({x, lines}, model) {
  return h(
    'table',
    null,
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        h('th', {scope: 'col', class: 'number'}, model.x),
        lines.map(line => h('th', {scope: 'col', class: 'number'}, foreign(line.label))),
      ),
    ),
    h(
      'tbody',
      null,
      sampleOf(x.length).map(i =>
        h(
          'tr',
          null,
          h('th', {scope: 'row', class: 'number'}, TELL[model.x](x[i])),
          lines.map(line => cell(line.y[i], TELL[model.y])),
        ),
      ),
    ),
  );
}

const sample = line =>
  svg(
    'svg',
    {class: `stroke c${line.colour % COLOURS}`, viewBox: '0 0 26 4', width: '26', height: '4', 'aria-hidden': 'true'},
    svg('line', {x1: '0', x2: '26', y1: '2', y2: '2', 'stroke-dasharray': DASHES[line.dash % DASHES.length].join(' ')}),
  );

function legend(model) {
  return h(
    'ul',
    {class: 'plain legend'},
    allLines(model).map(line =>
      h(
        'li',
        {'data-key': line.label},
        sample(line),
        ' ',
        foreign(line.label),
        ' ',
        h('b', null, TELL[model.y](lastOf(line.y) ?? null)),
      ),
    ),
    model.marks?.length > 0 && h('li', {class: 'quiet', 'data-key': 'marks'}, '┆ a generation began, with its number'),
  );
}

// model: {title, x and y: what they count, isLog, range, marks: [{x, words}], onZoom(from, to), tables: [{x: [], lines:
// [{label, colour, dash, y, min, max}]}]}
export function curves(key, model) {
  const shown = {...model, tables: model.tables.filter(({x}) => x.length > 0)};
  return h(
    'figure',
    {class: 'figure', 'data-key': key},
    h('figcaption', null, h('h3', null, foreign(model.title)), model.about && h('p', {class: 'quiet'}, model.about)),
    shown.tables.length === 0
      ? h('p', {class: 'empty'}, model.empty ?? 'Nothing was told yet.')
      : [
          legend(shown),
          island('div', {class: 'canvas', role: 'img', 'data-key': `canvas ${key}`}, element => draw(element, shown)),
          h(
            'details',
            null,
            h('summary', null, 'As a table'),
            h(
              'div',
              {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${model.title}, as a table`},
              shown.tables.map(table => tableOf(table, shown)),
            ),
          ),
        ],
  );
}
