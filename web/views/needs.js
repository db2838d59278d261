// The things that need a person: ensembles that do not go on by themselves, or went wrong in the last week, and batch
// systems that are not well.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {addressOf, isFiltered} from '../data/ensemble_choice.js';
import {sentence} from '../widgets/sentence.js';
import {sign} from '../widgets/state_signs.js';

const MOST = 6;

// Ensembles that somebody should look at, as the daemon says. If a part is looked at, nothing is asked for.
export async function loadTroubled(choice) {
  if (isFiltered(choice) || choice.cursor !== null) return {ensembles: [], next: null};
  return api.get(`v1/ensembles?trouble=1&limit=${MOST}`);
}

const isIll = ({state, ensembles}) => state === 'silent' || (state === 'not_set_up' && ensembles > 0);

function need(key, name, why) {
  return h('li', {'data-key': key}, sign('failed'), h('div', null, name, h('p', null, sentence(why))));
}

const link = ({id, name}) => h('a', {href: `#/ensembles/${id}`}, foreign(name), ' ',
  h('span', {class: 'id'}, `#${id}`));

export function needs({ensembles, next}, {adapters, refused}, choice) {
  const ill = [...adapters.filter(isIll)
    .map(({name, sentence}) => need(`adapter ${name}`, h('strong', null, foreign(name)), sentence)),
    ...refused.map(({path, reason}) => need(`plugin ${path}`, h('strong', null, foreign(path)),
      `It is not used: ${reason}`))];
  return ill.length + ensembles.length > 0
    && h('section', {class: 'needs', 'data-key': 'needs', 'aria-labelledby': 'needs'},
    h('h2', {id: 'needs'}, 'Needs a person'),
    h('ul', {class: 'plain'}, ill, ensembles.map(one => need(one.id, link(one), one.trouble))),
    next && h('p', null, h('a', {href: addressOf(choice, {isTroubled: true})}, 'All that need a person')));
}

const jobs = ({jobs: {intent, submitted, running}}) =>
  `${format.count(running)} running, ${format.count(submitted + intent)} queued`;

const isIdle = ({state}) => state === 'not_asked';

// Batch systems that answer, each with what it has of ours, and those that could be asked.
export function adaptersView({adapters}) {
  const well = adapters.filter(one => one.state === 'answers' || isIdle(one));
  return well.length > 0
    && h('ul', {class: 'plain adapters', 'data-key': 'adapters', 'aria-label': 'Batch systems that are well'},
      well.map(adapter =>
    h('li', {'data-key': adapter.name, title: isIdle(adapter) ? null : `It answered ${format.age(adapter.answered)}.`},
      sign(isIdle(adapter) ? 'pending' : 'succeeded'), ' ', h('strong', null, foreign(adapter.name)),
      isIdle(adapter) ? ' has had nothing to do yet' : ` answers; jobs: ${jobs(adapter)}`)));
}
