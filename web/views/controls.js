// The actions of an operator on an ensemble. Each one that cannot be undone says beforehand what it will do.
import {h} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {canFollowUp, canResubmit, followUp, resubmit} from './resubmit.js';
import {ask, confirm} from '../widgets/dialog.js';
import {count} from '../data/format.js';
import {visible} from '../data/text.js';

const under = ({members}) => members.submitted + members.running;

function whatCancelDoes(ensemble) {
  const lines = [], going = under(ensemble), {pending, succeeded} = ensemble.members;
  if (going > 0) lines.push(`${count(going)} members that are submitted or running are ended.`);
  if (pending > 0) lines.push(`${count(pending)} that wait are never started.`);
  if (ensemble.training && ensemble.training.ended === null) lines.push('The training is ended, too.');
  if (succeeded > 0) lines.push(`${count(succeeded)} that have succeeded stay as they are.`);
  return [...lines, 'A cancelled ensemble cannot be resumed.'];
}

async function cancel(ensemble, act) {
  const name = visible(ensemble.name);
  const sure = await confirm(
    {title: `Cancel ensemble ${ensemble.id}, “\u2068${name}\u2069”?`, text: whatCancelDoes(ensemble),
      yes: 'Cancel the ensemble', no: 'Let it go on'});
  if (sure) act(() => api.change('POST', `v1/ensembles/${ensemble.id}/cancel`));
}

async function resize(event, ensemble, act) {
  event.preventDefault();
  const width = Number(new FormData(event.target).get('width'));
  act(() => api.change('PATCH', `v1/ensembles/${ensemble.id}`, {width}));
}

export function widthForm(ensemble, act) {
  return h('form', {class: 'width', onsubmit: event => resize(event, ensemble, act)},
    h('label', {for: 'width', title: 'How many members may be submitted or running at once'}, 'Width'),
    h('input', {id: 'width', name: 'width', type: 'number', min: '1', max: '1000000', required: true,
      value: ensemble.width}),
    h('button', null, 'Set'));
}

const someRanks = n => `${count(n)} ${n === 1 ? 'rank' : 'ranks'}`;

function whatRanksDo({state, ranks, generation}, wanted) {
  if (state === 'pending') return [`Its next ranks are not submitted yet: there will be ${count(wanted)}.`];
  return [
    ranks === 1 ? 'Its rank saves a last checkpoint with all samples that it holds, and ends.'
      : `Its ${count(ranks)} ranks save a last checkpoint with all samples that they hold, and end.`,
    `Generation ${count(generation + 1)} goes on from there with ${someRanks(wanted)}. That costs no retry.`,
    'Members wait meanwhile, and then send to the new ranks: none runs again.'];
}

async function setRanks(event, training, act) {
  event.preventDefault();
  const ranks = Number(new FormData(event.target).get('ranks'));
  if (ranks === (training.wanted_ranks ?? training.ranks)) return;
  const sure = await ask(
    {title: `${someRanks(ranks)} for the training of ensemble ${training.ensemble}?`,
      describe: () => whatRanksDo(training, ranks),
    yes: `Go on with ${someRanks(ranks)}`, no: 'Let it be'});
  if (sure) act(() => api.change('PATCH', `v1/trainings/${training.id}`, {ranks}));
}

export function ranksForm(training, act) {
  if (!training.can_resize)
    return h('span', {class: 'quiet', 'data-key': 'fixed',
      title: 'With "checkpoint" in "training" of its spec, the number could be changed'},
      `${someRanks(training.ranks)} to the end, since it saves no checkpoints`);
  return h('form', {class: 'width', onsubmit: event => setRanks(event, training, act)},
    h('label', {for: 'ranks-wanted', title: 'How many processes train together'}, 'Ranks'),
    h('input', {id: 'ranks-wanted', name: 'ranks', type: 'number', min: '1', max: '1024', required: true,
      value: training.wanted_ranks ?? training.ranks}),
    h('button', null, 'Set…'));
}

// While it goes on.
function underWay(ensemble, act) {
  const post = verb => () => act(() => api.change('POST', `v1/ensembles/${ensemble.id}/${verb}`));
  if (ensemble.ended !== null || !['running', 'paused'].includes(ensemble.state)) return null;
  return [
    ensemble.state === 'running'
      ? h('button', {'data-key': 'pause', title: 'Start no more members; what runs goes on', onclick: post('pause')},
        'Pause')
      : h('button', {'data-key': 'resume', class: 'primary', title: 'Start members again', onclick: post('resume')},
        'Resume'),
    ensemble.open && h('button',
      {'data-key': 'close', title: 'No more members are suggested: it ends when those that it has have ended',
        onclick: post('close')}, 'Close'),
    widthForm(ensemble, act),
    h('button', {'data-key': 'cancel', class: 'danger', onclick: () => cancel(ensemble, act)}, 'Cancel…')];
}

// act(action): does it, shows the sentence that it returns or the error, and asks again.
export function controls(ensemble, act) {
  const buttons = [
    canResubmit(ensemble)
      && h('button', {'data-key': 'resubmit', title: 'Members that did not succeed go again',
        onclick: () => act(() => resubmit(ensemble))}, 'Resubmit…'),
    canFollowUp(ensemble)
      && h('button', {'data-key': 'follow-up', title: 'Members go on in a new ensemble',
        onclick: () => act(() => followUp(ensemble))}, 'Follow up…'),
    underWay(ensemble, act)];
  return buttons.some(Boolean) && h('div', {class: 'controls', role: 'group', 'aria-label': 'Change this ensemble'},
    buttons);
}
