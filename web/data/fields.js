// The fields by which members can be plotted, with their scales: parameters, reported metrics, use of the latest
// attempt, and state.
import {NAMES} from './snapshot.js';
import {bytes, duration, finite, lossesFirst, number} from './format.js';
import {MEMBERS} from './states.js';

const MOST_VALUES = 30; // of a parameter that is not a number

const seconds = ({last_attempt: last}) =>
  (last?.started && last.ended ? (Date.parse(last.ended) - Date.parse(last.started)) / 1000 : null);

const OTHERS = [
  {key: 'state', name: 'state', values: [...MEMBERS].reverse(), value: (line, code) => NAMES[code]},
  {key: 'index', name: 'index', value: line => line.index, inWords: String},
  {key: 'took', name: 'time it took', value: seconds, inWords: duration},
  {key: 'cpu', name: 'CPU time', value: line => line.last_attempt?.cpu_seconds ?? null, inWords: duration},
  {key: 'memory', name: 'peak of memory', value: line => line.last_attempt?.memory_peak ?? null, inWords: bytes},
];

// A parameter is along an axis as a number, or as one of a few values.
// Lists and objects are told as JSON; `asked` gives back the value itself, for a filter.
function parameterField(name, lines) {
  const structures = new Map(), values = new Set();
  const told = value => {
    if (value === null || typeof value !== 'object') return value;
    const text = JSON.stringify(value);
    structures.set(text, value);
    return text;
  };
  const field = {key: `p.${name}`, name, parameter: name, value: line => told(line.parameters?.[name] ?? null),
    asked: value => structures.get(value) ?? value};
  let isNumber = true;
  for (const line of lines) {
    const value = field.value(line);
    isNumber &&= value === null || typeof value === 'number';
    if (!isNumber && values.size <= MOST_VALUES) values.add(value);
  }
  if (isNumber) return {...field, inWords: value => number(value, 5)};
  for (const line of lines) values.add(field.value(line));
  return values.size <= MOST_VALUES ? {...field, values: [...values].filter(value => value !== null)} : null;
}

// The last value of a metric.
const metricField = name =>
  ({key: `m.${name}`, name, isMetric: true, value: line => finite(line.metrics?.[name]?.last),
    inWords: value => number(value, 5)});

const metricsOf = lines => lossesFirst(new Set(lines.flatMap(({metrics}) => Object.keys(metrics ?? {}))))
  .map(metricField);

export function fieldsOf(lines) {
  const names = Object.keys(lines.find(line => line.parameters !== null)?.parameters ?? {});
  const used = OTHERS.filter(({key, value}) => ['state', 'index'].includes(key)
    || lines.some(line => value(line) !== null));
  const metrics = metricsOf(lines).filter(({value}) => lines.some(line => value(line) !== null));
  return [...names.map(name => parameterField(name, lines)).filter(field => field !== null), ...metrics, ...used];
}

// Returns functions that give the place of a value along an axis, from 0 to 1, and the value at a place.
export function scaleOf(field, lines) {
  if (field.values) {
    const n = field.values.length, places = new Map(field.values.map((value, i) => [value, (i + 0.5) / n]));
    return {isValues: true, at: value => places.get(value) ?? null,
      pick: part => field.values[Math.min(n - 1, Math.max(0, Math.floor(part * n)))],
      ticks: field.values.map((value, i) => [(i + 0.5) / n, String(value)])};
  }
  const sorted = lines.map(line => field.value(line)).filter(value => value !== null).sort((a, b) => a - b);
  let low = sorted[0] ?? 0, high = sorted.at(-1) ?? 1;
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const isLog = low > 0 && high / low > 200 && sorted[sorted.length >> 1] <= high / 10, f = isLog ? Math.log10 : x => x,
    back = isLog ? x => 10 ** x : x => x, span = f(high) - f(low);
  return {isLog, low, high, at: value => (value === null ? null : (f(value) - f(low)) / span),
    pick: part => back(f(low) + Math.min(1, Math.max(0, part)) * span),
    ticks: (isLog ? powers(low, high) : steps(low, high))
      .map(value => [(f(value) - f(low)) / span, field.inWords(value)])};
}

function steps(low, high) {
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough)),
    step = [1, 2, 5, 10].find(factor => factor * power >= rough) * power, list = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++)
    list.push(Number((i * step).toPrecision(12)));
  return list;
}

function powers(low, high) {
  const list = [], every = Math.ceil((Math.log10(high) - Math.log10(low)) / 6);
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += every) list.push(10 ** power);
  return list;
}

const short = value => Number(value.toPrecision(4));

// Returns whether members can be chosen by the field.
export const canChooseBy = ({key, parameter}) => parameter !== undefined || key === 'state' || key === 'index';

// Returns the part of a filter by which members lie between two places of an axis; null if there is none, or no filter
// can express it.
export function conditionOf(field, scale, from, to, filter) {
  if (Math.min(from, to) <= 0 && Math.max(from, to) >= 1) return null; // all of it
  const [low, high] = [scale.pick(Math.min(from, to)), scale.pick(Math.max(from, to))];
  if (field.key === 'state') {
    const states = field.values.slice(field.values.indexOf(low), field.values.indexOf(high) + 1);
    return {states};
  }
  if (field.key === 'index') return {from: Math.ceil(low), to: Math.max(Math.ceil(low), Math.floor(high))};
  if (!canChooseBy(field) || (scale.isValues && low !== high)) return null;
  return {where: {...filter.where, [field.parameter]: scale.isValues ? field.asked(low) : [short(low), short(high)]}};
}
