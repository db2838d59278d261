// The generations of a training's ranks and why each ended, and the checkpoints that they saved.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {cell, stacked} from '../widgets/stacked_table.js';
import {sign} from '../widgets/state_signs.js';

const SHOWN = 50; // generations, and checkpoints, the newest

export async function loadGenerations({id}) {
  const [{generations, next}, {checkpoints}] = await Promise.all([
    api.get(`v1/trainings/${id}/generations?limit=${SHOWN}`),
    api.get(`v1/checkpoints?training=${id}&limit=1000`),
  ]);
  return {generations, hasOlder: next !== null, checkpoints};
}

// The words for how a generation ended, and the state whose sign and colour they have.
const ENDS = {
  done: ['done', 'done'],
  failed: ['failed', 'failed'],
  lost: ['lost', 'lost'],
  cancelled: ['cancelled', 'cancelled'],
  resized: ['resized', 'ended'],
  out_of_time: ['out of time', 'timeout'],
};

const pillOf = ([words, state]) => h('span', {class: `pill s-${state}`}, sign(state), ' ', words);

const moment = time => h('time', {datetime: time}, format.moment(time));

// The day is told once.
function endOf({started, ended}) {
  const isSameDay = started !== null && new Date(started).toDateString() === new Date(ended).toDateString();
  return h('time', {datetime: ended, title: format.moment(ended)}, isSameDay ? format.clock(ended)
    : format.moment(ended));
}

const isOver = ({state}) => ['done', 'failed', 'cancelled'].includes(state);

// Says how often the ranks restarted, and why the last times.
function restartsOf({restarts}) {
  if (restarts.length === 0) return null;
  return [`${format.count(restarts[0].number)} times: `, restarts.map(({time, rank, reason}, i) => [
    i > 0 && '; ', h('time', {datetime: time, title: format.moment(time)}, format.clock(time)),
      ` rank ${format.count(rank)} `, reason && foreign(reason)])];
}

function generationRow(one, training) {
  const end = one.end !== null ? ENDS[one.end] : one.started !== null ? ['running', 'running']
    : [training.state, training.state];
  return h(
    'tr',
    {'data-key': one.number, 'aria-current': one.number === training.generation && !isOver(training) && 'true'},
    h('th', {scope: 'row'}, one.number),
    cell('state', pillOf(end)),
    cell('ranks', format.count(one.ranks)),
    cell('began', one.started && moment(one.started)),
    cell('took', format.between(one.started, one.ended)),
    cell('ended', one.ended && endOf(one)),
    cell('went on from', one.resumed_from && [foreign(one.resumed_from), `, step ${format.count(one.resumed_step)}`]),
    cell('lost with the one before', one.samples_lost + one.members_again > 0
      && `${format.count(one.samples_lost)} samples, ${format.count(one.members_again)} members again`),
    cell('begun again in its job', restartsOf(one)),
    cell('how it ended', one.reason && foreign(one.reason)),
  );
}

export function generationsView(training, {generations, hasOlder}) {
  return h(
    'section',
    {class: 'panel', 'data-key': 'generations', 'aria-labelledby': 'generations'},
    h('h2', {id: 'generations'}, 'Generations of its ranks'),
    stacked(
      'Table of generations',
      ['generation', 'state', 'ranks', 'began', 'took', 'ended', 'went on from', 'lost with the one before',
        'begun again in its job', 'how it ended'],
      generations.map(one => generationRow(one, training)),
    ),
    hasOlder && h('p', {class: 'quiet'}, `The newest ${SHOWN} of ${format.count(training.generation)}.`),
  );
}

// Says what a checkpoint that is not damaged is used for.
function useOf(one, training) {
  const uses = [];
  if (one.name === training.resumed_from) uses.push(`generation ${format.count(training.generation)} went on from it`);
  if (one.name === training.checkpoint?.name && !isOver(training)) uses.push('the next generation goes on from it');
  return uses.join('; ');
}

function checkpointRow(one, training) {
  return h(
    'tr',
    {'data-key': one.number, 'aria-current': one.name === training.resumed_from && 'true'},
    h('th', {scope: 'row'}, foreign(one.name)),
    cell('state', pillOf(one.damaged ? ['damaged', 'failed'] : ['whole', 'succeeded'])),
    cell('step', format.count(one.step)),
    cell('batches', format.count(one.batches)),
    cell('size', format.bytes(one.size)),
    cell('saved', h('time', {datetime: one.time, title: format.moment(one.time)}, format.age(one.time))),
    cell('use', useOf(one, training)),
    cell('path', foreign(one.path)),
  );
}

export function trainingCheckpoints(training, {checkpoints}) {
  if (checkpoints.length === 0) return null;
  return h(
    'section',
    {class: 'panel', 'data-key': 'checkpoints', 'aria-labelledby': 'checkpoints'},
    h('h2', {id: 'checkpoints'}, 'Checkpoints'),
    stacked(
      'Table of checkpoints',
      ['name', 'state', 'step', 'batches', 'size', 'saved', 'use', 'path'],
      checkpoints.slice(-SHOWN).reverse().map(one => checkpointRow(one, training)),
    ),
    checkpoints.length > SHOWN
      && h('p', {class: 'quiet'}, `The newest ${SHOWN} of ${format.count(checkpoints.length)}.`),
  );
}

// Returns where each generation after the first begins along an axis: among the points between its own end and that of
// the one before.
export function marksAlong(axis, {generations}, {begun, by, buckets}) {
  const marks = [];
  for (const [i, {number, started, ended}] of generations.entries()) {
    const former = generations[i + 1]?.ended; // since the newest is first
    if (number === 1 || !started || !former) continue;
    const time = Date.parse(started) / 1000,
      isOwn = at => at > Date.parse(former) && (ended === null || at <= Date.parse(ended));
    const first = buckets.find(bucket => isOwn(Date.parse(bucket.last_time ?? bucket.time)));
    const x = axis === 'time' ? time - begun : axis === 'samples' ? by(time) : first?.step;
    if (x !== undefined) marks.push({x, words: format.count(number)});
  }
  return marks.sort((a, b) => a.x - b.x);
}
