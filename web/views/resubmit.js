// Members that did not succeed go again, in their ensemble or in a follow-up. Both say before which and how many these
// are.
import {h} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {ask} from '../widgets/dialog.js';
import {count} from '../data/format.js';
import {openOf} from '../data/states.js';

const STATES = ['unfinished', 'failed'];
const NAMED = 5; // members that are named

const many = (n, word = 'member') => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

const left = members => members.failed + members.unfinished;

const isNewest = ensemble => ensemble.follow_ups.length === 0;

// Returns whether the daemon would probably accept it.
export function canResubmit(ensemble) {
  const {members, training, state} = ensemble;
  const isOpen = openOf(members) > 0;
  if (!isNewest(ensemble) || left(members) === 0 || state === 'cancelled') return false;
  if (state === 'failed' && members.failed < ensemble.count) return false;
  return !training || (training.ended === null && isOpen);
}

export const canFollowUp = ensemble =>
  ensemble.ended !== null && isNewest(ensemble) && !ensemble.training && left(ensemble.members) > 0;

function choices(members, chosen) {
  return h(
    'fieldset',
    null,
    h('legend', null, 'Which members'),
    STATES.map(state =>
      h(
        'label',
        {class: 'check'},
        h('input', {
          type: 'checkbox',
          name: 'states',
          value: state,
          checked: chosen.includes(state) && members[state] > 0,
          disabled: members[state] === 0,
        }),
        ` ${state}: ${count(members[state])}`,
      ),
    ),
  );
}

// The first of these members by name, and how many more there are.
async function examples(id, members) {
  const lines = {};
  for (const state of STATES) {
    if (members[state] === 0) continue;
    const page = await api.get(`v1/ensembles/${id}/members?state=${state}&limit=${NAMED}`),
      more = members[state] - page.members.length;
    lines[state] =
      page.members.map(({index}) => `${id}.${index}`).join(', ') + (more > 0 ? ` and ${count(more)} more` : '');
  }
  return lines;
}

const total = (members, states) => states.reduce((sum, state) => sum + members[state], 0);

function beginAt() {
  return h(
    'fieldset',
    null,
    h('legend', null, 'Where they begin'),
    [
      ['checkpoint', 'at their newest checkpoint, where they have one'],
      ['start', 'at the start, whatever there is'],
    ].map(([value, words], i) =>
      h('label', {class: 'check'}, h('input', {type: 'radio', name: 'from', value, checked: i === 0}), ` ${words}`),
    ),
  );
}

// Resolves with a sentence that says what was done, or null.
export async function resubmit(ensemble) {
  const {id, members} = ensemble,
    named = await examples(id, members);
  const chosen = await ask({
    title: `Resubmit members of ensemble ${id}?`,
    yes: 'Resubmit',
    no: 'Leave them',
    fields: [choices(members, STATES), beginAt()],
    describe: choice => {
      const states = choice.getAll('states');
      return states.length === 0
        ? null
        : [
            `${many(total(members, states))} will be pending again, with all retries: `
              + `${states.map(state => named[state]).join('; ')}.`,
            ensemble.ended !== null && `The ensemble, which is ${ensemble.state}, will be running again.`,
            'Attempts that were made are kept.',
          ].filter(Boolean);
    },
  });
  if (chosen === null) return null;
  const {resubmitted} = await api.change('POST', `v1/ensembles/${id}/resubmit`, {
    states: chosen.getAll('states'),
    from: chosen.get('from'),
  });
  return `${many(resubmitted)} became pending again.`;
}

// Returns each member of the whole family once, in the newest ensemble that has it.
async function familyMembers(ensemble) {
  if (ensemble.root === ensemble.id) return ensemble.members;
  return (await api.get(`v1/ensembles/${ensemble.root}`)).family.members;
}

const widthField = width =>
  h(
    'label',
    {class: 'field'},
    'Width ',
    h('input', {name: 'width', type: 'number', min: '1', max: '1000000', required: true, value: width}),
  );

export async function followUp(ensemble) {
  const members = await familyMembers(ensemble);
  const chosen = await ask({
    title: `Follow up ensemble ${ensemble.id}?`,
    yes: 'Make the follow-up',
    no: 'Leave it',
    fields: [choices(members, members.unfinished > 0 ? ['unfinished'] : ['failed']), widthField(ensemble.width)],
    describe: choice => {
      const states = choice.getAll('states');
      return states.length === 0
        ? null
        : [
            `${many(total(members, states))} will go on in a new ensemble, under the same indices and with the same `
              + 'parameters, from their checkpoints where they have one.',
            `It begins at once, ${many(Number(choice.get('width')))} at a time. This one stays as it is.`,
          ];
    },
  });
  if (chosen === null) return null;
  const made = await api.change('POST', `v1/ensembles/${ensemble.id}/follow-up`, {
    states: chosen.getAll('states'),
    width: Number(chosen.get('width')),
  });
  location.hash = `#/ensembles/${made.id}`;
  return null;
}
