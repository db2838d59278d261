// One member: its parameters, its attempts, and the end of what it printed.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {band} from '../widgets/band.js';
import * as format from '../data/format.js';
import {parametersOf} from './member_table.js';
import {facts} from './training_summary.js';
import {cell, stacked} from '../widgets/stacked_table.js';
import {pill} from '../widgets/state_signs.js';
import {timeline} from '../widgets/timeline.js';
import {visible} from '../data/text.js';

const SHOWN = 16384; // bytes of an output
const SERIES = 24; // metrics
const CHECKPOINTS = 10; // of those that are told, the newest
const FOR_A_WINDOW = 10e6; // more than that is for a file

async function output(path, attempt) {
  if (!attempt.started) return {text: '', size: 0, why: 'It has not started yet.'};
  if (attempt.output_released) return {text: '', size: 0, why: 'The output is no longer kept.'};
  try {
    return await api.tail(path, SHOWN);
  } catch (problem) {
    if (problem.status === 404 || problem.status === 410) return {text: '', size: 0, why: problem.message};
    throw problem;
  }
}

// Its series, if it reported any.
async function loadMetrics(id, index, {metrics}) {
  if (Object.keys(metrics).length === 0) return {};
  return (await api.get(`v1/ensembles/${id}/members/${index}/metrics?buckets=160&limit=${SERIES}`)).series;
}

// If standard error is in standard output, that is all there is.
const streamsOf = member => (member.output === 'merged' ? ['stdout'] : ['stderr', 'stdout']);

function titleOf(member, stream) {
  if (member.output === 'merged') return 'Output and errors';
  return stream === 'stdout' ? 'Standard output' : 'Standard error';
}

async function load(id, index, parameters) {
  const member = await api.get(`v1/ensembles/${id}/members/${index}`);
  const chosen = Number(parameters.get('attempt'));
  const attempt = member.attempts.find(({number}) => number === chosen) ?? member.attempts.at(-1);
  const metrics = await loadMetrics(id, index, member);
  if (!attempt) return {member, metrics, attempt: null, outputs: []};
  const outputs = streamsOf(member).map(async stream => {
    const path = `v1/ensembles/${id}/members/${index}/${stream}?attempt=${attempt.number}`;
    return {stream, path, ...(await output(path, attempt))};
  });
  return {member, metrics, attempt: attempt.number, outputs: await Promise.all(outputs)};
}

const HEADERS = ['attempt', 'state', 'how it ended', 'host', 'started', 'took', 'CPU time', 'memory', 'job'];
const RESUMED = 'went on from'; // a checkpoint; there is a column for it if any attempt did

function attemptRow(member, attempt, chosen, isResumed) {
  const how = attempt.exit_code !== null ? `exit ${attempt.exit_code}` : attempt.signal !== null
    ? `signal ${attempt.signal}` : null;
  const why = attempt.reason ?? attempt.notice ?? attempt.waits_for ?? how;
  return h('tr', {'data-key': attempt.number, 'aria-current': attempt.number === chosen && 'true'},
    h('th', {scope: 'row'},
      h('a', {href: `#/ensembles/${member.ensemble}/members/${member.index}?attempt=${attempt.number}`},
        attempt.number)),
    cell('state', pill(attempt.outcome ?? attempt.state)),
    cell('how it ended', why && foreign(why)),
    cell('host', attempt.host && foreign(attempt.host)),
    cell('started', attempt.started && h('time', {datetime: attempt.started}, format.moment(attempt.started))),
    cell('took', format.between(attempt.started, attempt.ended)),
    cell('CPU time', attempt.cpu_seconds !== null && format.duration(attempt.cpu_seconds)),
    cell('memory', attempt.memory_peak !== null && format.bytes(attempt.memory_peak)),
    cell('job', foreign(attempt.job)),
    isResumed && cell(RESUMED, attempt.resumed && foreign(attempt.resumed)));
}

function attempts(member, chosen) {
  const isResumed = member.attempts.some(({resumed}) => resumed !== null);
  return h('section', {class: 'panel', 'aria-labelledby': 'attempts'}, h('h2', {id: 'attempts'}, 'Attempts'),
    member.attempts.length === 0 ? h('p', {class: 'empty'}, 'It has not been tried yet.') :
      [timeline(member), stacked('Table of attempts', isResumed ? [...HEADERS, RESUMED] : HEADERS,
        [...member.attempts].reverse().map(attempt => attemptRow(member, attempt, chosen, isResumed)))]);
}

function metricsView({metrics: figures}, series) {
  const names = format.lossesFirst(Object.keys(series)), more = Object.keys(figures).length - names.length;
  return names.length > 0 && h('section', {class: 'panel', 'data-key': 'metrics', 'aria-labelledby': 'metrics'},
    h('h2', {id: 'metrics'}, 'Metrics that it reported'),
    h('div', {class: 'charts'}, names.map(name => band(name, series[name]))),
    more > 0 && h('p', {class: 'quiet'}, `and ${format.count(more)} more`));
}

function checkpoints({checkpoints: all, ensemble}) {
  if (all.length === 0) return null;
  const by = ({ensemble: made, attempt}) =>
    (made === ensemble ? `attempt ${attempt}` : `attempt ${attempt} in #${made}`);
  return h('section', {class: 'panel', 'data-key': 'checkpoints', 'aria-labelledby': 'checkpoints'},
    h('h2', {id: 'checkpoints'}, 'Checkpoints that are whole'),
    stacked('Table of checkpoints', ['number', 'step', 'size', 'written', 'by', 'path'],
      all.slice(-CHECKPOINTS).reverse().map(one =>
      h('tr', {'data-key': one.number}, h('th', {scope: 'row'}, one.number),
        cell('step', one.step !== null && format.count(one.step)),
        cell('size', format.bytes(one.size)), cell('written', h('time', {datetime: one.time}, format.moment(one.time))),
          cell('by', by(one.made_by)),
        cell('path', foreign(one.path))))),
    all.length > CHECKPOINTS && h('p', {class: 'quiet'}, `The newest ${CHECKPOINTS} of ${format.count(all.length)}.`));
}

function artefacts({artefacts: all}) {
  if (all.length === 0) return null;
  return h('section', {class: 'panel', 'data-key': 'artefacts', 'aria-labelledby': 'artefacts'},
    h('h2', {id: 'artefacts'}, 'Artefacts'),
    stacked('Table of artefacts', ['path', 'size', 'attempt', 'SHA-256'], all.map(one =>
      h('tr', {'data-key': one.path}, cell('path', foreign(one.path)), cell('size', format.bytes(one.size)),
        cell('attempt', one.attempt), cell('SHA-256', h('code', null, one.sha256))))));
}

// All of an output, in a window of its own, or in a file if it is too much for a window.
function whole(name, path, size) {
  const how = size > FOR_A_WINDOW ? {download: `${name}.txt`} : {target: '_blank', rel: 'noopener'};
  return h('a', {href: api.url(path), ...how}, `${how.download ? 'download all' : 'all'} ${format.bytes(size)}`);
}

function outputView(member, {stream, path, text, size, why}) {
  const {ensemble, index} = member, cut = size > SHOWN;
  return h('section', {class: 'panel', 'data-key': stream, 'aria-labelledby': stream},
    h('div', {class: 'panel-head'}, h('h2', {id: stream}, titleOf(member, stream)),
      size > 0 && whole(`${ensemble}.${index}.${stream}`, path, size)),
    cut && h('p', {class: 'quiet'}, `The last ${format.bytes(SHOWN)}:`),
    text === '' ? h('p', {class: 'empty'}, why ?? 'Nothing was printed.')
      : h('pre', {class: 'output', tabindex: '0', dir: 'auto'}, visible(text)));
}

function render({member, metrics, attempt, outputs}) {
  const {ensemble, index} = member;
  return [
    h('nav', {class: 'crumbs', 'aria-label': 'Where this is'}, h('a', {href: '#/'}, 'Ensembles'), ' / ',
      h('a', {href: `#/ensembles/${ensemble}`}, `#${ensemble}`), ' / '),
    h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, `Member ${ensemble}.${index}`), pill(member.state)),
    (member.reason || member.retry_at) && h('p', {class: 'notice', 'data-key': 'why'},
      member.reason && foreign(member.reason), member.reason && member.retry_at && '; ',
      member.retry_at && h('time', {datetime: member.retry_at, title: format.moment(member.retry_at)},
        `the next attempt is due ${format.until(member.retry_at)}`)),
    h('section', {class: 'panel about', 'aria-label': 'About it'}, facts([
      ['parameters', parametersOf(member.parameters)],
      ['seed', member.seed],
      ['progress', member.progress === null ? null : format.share(member.progress)],
      ['results', member.results && foreign(member.results)],
      ['goes on in', member.follow_up && h('a', {href: `#/ensembles/${member.follow_up}/members/${index}`},
        `#${member.follow_up}`)],
    ])),
    attempts(member, attempt),
    metricsView(member, metrics),
    checkpoints(member),
    artefacts(member),
    outputs.map(one => outputView(member, one)),
  ];
}

export function memberView(id, index, parameters) {
  return {
    title: `Member ${id}.${index}`,
    events: `v1/events?ensemble=${id}`,
    every: 5000,
    load: () => load(id, index, parameters),
    render,
  };
}
