// Parameters of members against one another, against their state, and against what they used.
import {h, foreign, island} from '../widgets/dom.js';
import {NAMES} from '../data/snapshot.js';
import {addressOf, queryOf} from '../data/member_filter.js';
import {count} from '../data/format.js';
import {Parallel} from '../widgets/parallel.js';
import {Scatter} from '../widgets/scatter.js';
import {MEMBERS} from '../data/states.js';
import {visible} from '../data/text.js';

const AXES = 10, METRICS = 3, BINS = 8; // axes of parameters and of metrics; ranges of the table

const withChoice = (id, parameters, changes) => {
  const query = new URLSearchParams(parameters);
  for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
  return `#/ensembles/${id}${query.size > 0 ? `?${query}` : ''}`;
};

function axisChoice(id, parameters, name, fields, chosen) {
  return h('label', {class: 'axis'}, name === 'x' ? 'Across ' : 'Up ',
    h('select', {'data-key': name,
      onchange: event => (location.hash = withChoice(id, parameters, {[name]: event.target.value}))},
      fields.map(field => h('option', {value: field.key, selected: field === chosen}, visible(field.name)))));
}

function kinds(id, parameters, isLines) {
  return h('p', {class: 'segments'},
    h('a', {href: withChoice(id, parameters, {plot: null}), 'aria-current': !isLines && 'true'}, 'Scatter'),
    h('a', {href: withChoice(id, parameters, {plot: 'lines'}), 'aria-current': isLines && 'true'},
      'Parallel coordinates'));
}

// A table of how many of the members on display are in which state, by ranges of the field across.
function binsTable(field, scale, {lines, states, has}) {
  const bins = scale.isValues ? scale.ticks.map(([, words]) => ({words, counts: {}})) :
    Array.from({length: BINS},
      (_, i) => ({words: `${field.inWords(scale.pick(i / BINS))} to ${field.inWords(scale.pick((i + 1) / BINS))}`,
        counts: {}}));
  const none = {words: 'none', counts: {}};
  for (const line of lines) {
    if (!has(line.index)) continue;
    const state = NAMES[states[line.index]], part = scale.at(field.value(line, states[line.index]));
    const {counts} = part === null ? none : bins[Math.min(bins.length - 1, Math.floor(part * bins.length))];
    counts[state] = (counts[state] ?? 0) + 1;
  }
  if (Object.keys(none.counts).length > 0) bins.push(none);
  return h('table', {class: 'bins'},
    h('thead', null, h('tr', null, h('th', {scope: 'col'}, foreign(field.name)),
      MEMBERS.map(state => h('th', {scope: 'col', class: 'number'}, state)))),
    h('tbody', null, bins.map(({words, counts}) => h('tr', null, h('th', {scope: 'row'}, foreign(words)),
      MEMBERS.map(state => h('td', {class: 'number'}, count(counts[state] ?? 0)))))));
}

function table(kept, field, wish, redraw) {
  const toggle = event => {
    if (kept.isBinsOpen === event.target.open) return;
    kept.isBinsOpen = event.target.open;
    redraw();
  };
  return h('details', {'data-key': 'bins', ontoggle: toggle}, h('summary', null, 'As a table'),
    kept.isBinsOpen && h(
      'div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Members by ranges of a parameter'},
      binsTable(field, kept.sampled().scale(field), wish)));
}

const about = ({total, isAll}, shown) => (isAll ? `${count(shown)} members` :
  `A sample: ${count(shown)} of ${count(total)} members, in which states that are rare have more than their share`);

// Returns how many of the lines have no value of at least one of these fields.
const lacking = (lines, states, fields, scale) =>
  lines.reduce((n, line) => n + fields.some(field => scale(field).at(field.value(line, states[line.index])) === null),
    0);

// Says what the picture does with members that lack a value.
function aboutNone(n, isLines) {
  if (n === 0) return null;
  return isLines ? ` Where a member has no value, its line passes through "none": ${count(n)} of them.` :
    ` ${count(n)} of them ${n === 1 ? 'has' : 'have'} no value along an axis, and no mark.`;
}

export function plotsView(ensemble, kept, filter, parameters, redraw) {
  const {id} = ensemble, chosen = kept.chosen(filter), {lines, fields, scale, version} = kept.sampled();
  if (chosen === null || lines.length < 2) return null;
  const pick = (name, other) => fields.find(({key}) => key === parameters.get(name)) ?? other;
  const x = pick('x', fields[0]),
    y = pick('y', fields[1].parameter !== undefined ? fields[1] : fields.find(({key}) => key === 'state'));
  const isLines = parameters.get('plot') === 'lines', {states} = kept.snapshot;
  const actions = {open: index => (location.hash = `#/ensembles/${id}/members/${index}`),
    choose: changes => (location.hash = addressOf(id, parameters, changes))};
  const named = fields.filter(({parameter}) => parameter !== undefined),
    metrics = fields.filter(({isMetric}) => isMetric);
  const axes = [...named.slice(0, AXES), ...metrics.slice(0, METRICS), fields.find(({key}) => key === 'state')];
  const left = Math.max(0, named.length - AXES);
  const shown = isLines ? axes : [x, y];
  const key = [version, queryOf(filter), kept.foundFor, kept.foundAt, ...shown.map(field => field.key)].join('\n');
  const wish = {key, id, lines, states, has: chosen.has, filter, actions};
  return h('section', {class: 'panel', 'data-key': 'plots', 'aria-labelledby': 'plots'},
    h('div', {class: 'panel-head'},
      h('h2', {id: 'plots'}, metrics.length > 0 ? 'Parameters and metrics' : 'Parameters'),
        kinds(id, parameters, isLines)),
    !isLines && h('div', {class: 'axes tools'}, axisChoice(id, parameters, 'x', fields, x),
      axisChoice(id, parameters, 'y', fields, y)),
    island('div', {class: 'map', 'data-key': `${isLines ? 'lines' : 'scatter'} ${id}`}, element => {
      element.plot ??= isLines ? new Parallel(element) : new Scatter(element);
      element.plot.set({...wish,
        ...(isLines ? {fields: axes, scales: axes.map(scale),
          lacking: axes.map(field => lacking(lines, states, [field], scale))} :
        {x, y, scaleX: scale(x), scaleY: scale(y)})});
    }),
    h('p', {class: 'quiet sample'}, `${about(kept.choice, lines.length)}.`,
      aboutNone(lacking(lines, states, shown, scale), isLines),
        left > 0 && isLines && ` ${count(left)} more parameters have no axis.`),
    table(kept, isLines ? axes[0] : x, wish, redraw));
}
