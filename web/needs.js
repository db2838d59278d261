// What needs a person: ensembles that do not go on by themselves, or went wrong lately, and batch systems that are not well.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {isFiltered} from './listed.js';
import {sign} from './states.js';

const URGENT = new Set(['held', 'ending', 'adapter_not_here', 'adapter_not_set_up', 'adapter_silent', 'state_not_written', 'no_room', 'not_submitted',
  'training_silent']);

const RECENT = 7 * 86400 * 1000; // after that, what has failed is history
const MOST = 6;

// Why somebody should look at it, or null.
function trouble(ensemble) {
  if (ensemble.ended !== null && Date.now() - Date.parse(ensemble.ended) > RECENT) return null;
  if (ensemble.notice && URGENT.has(ensemble.notice.code)) return ensemble.notice.text;
  if (ensemble.state === 'failed') return ensemble.reason ?? 'It has failed.';
  if (ensemble.training?.state === 'failed') return `Its training has failed: ${ensemble.training.reason ?? 'no reason is known'}`;
  if (ensemble.members.failed > 0) return `${format.count(ensemble.members.failed)} of ${format.count(ensemble.count)} members have failed.`;
  return null;
}

// Ensembles among which some may need a person: those of the first page and, where there are more, the newest of those that are not over
// and of those that have failed. Where a part is looked at, nothing is asked for.
export async function loadTroubled(choice, {ensembles, next}) {
  if (isFiltered(choice) || choice.cursor !== null) return [];
  if (next === null) return ensembles;
  const lists = await Promise.all(['running,paused', 'failed'].map(states => api.get(`v1/ensembles?state=${states}&limit=50`)));
  const all = new Map([...ensembles, ...lists.flatMap(list => list.ensembles)].map(one => [one.id, one]));
  return [...all.values()].sort((a, b) => b.id - a.id);
}

const isIll = ({state, ensembles}) => state === 'silent' || (state === 'not_set_up' && ensembles > 0);

function need(key, name, why) {
  return h('li', {'data-key': key}, sign('failed'), h('div', null, name, h('p', null, foreign(why))));
}

const link = ({id, name}) => h('a', {href: `#/ensembles/${id}`}, foreign(name), ' ', h('span', {class: 'id'}, `#${id}`));

export function needs(ensembles, {adapters, refused}) {
  const ill = [...adapters.filter(isIll).map(({name, sentence}) => need(`adapter ${name}`, h('strong', null, foreign(name)), sentence)),
    ...refused.map(({path, reason}) => need(`plugin ${path}`, h('strong', null, foreign(path)), `It is not used: ${reason}`))];
  const troubled = ensembles.map(one => [one, trouble(one)]).filter(([, why]) => why !== null);
  return ill.length + troubled.length > 0 && h('section', {class: 'needs', 'data-key': 'needs', 'aria-labelledby': 'needs'},
    h('h2', {id: 'needs'}, 'Needs a person'),
    h('ul', {class: 'plain'}, ill, troubled.slice(0, MOST).map(([one, why]) => need(one.id, link(one), why))),
    troubled.length > MOST && h('p', {class: 'quiet'}, `and ${format.count(troubled.length - MOST)} more`));
}

const jobs = ({jobs: {intent, submitted, running}}) => `${format.count(running)} running, ${format.count(submitted + intent)} queued`;

// Batch systems that answer, each with what it has of ours.
export function adaptersView({adapters}) {
  const well = adapters.filter(({state}) => state === 'answers');
  return well.length > 0 && h('ul', {class: 'plain adapters', 'data-key': 'adapters', 'aria-label': 'Batch systems that answer'}, well.map(adapter =>
    h('li', {'data-key': adapter.name, title: `It answered ${format.age(adapter.answered)}.`}, sign('succeeded'), ' ', h('strong', null, foreign(adapter.name)),
      ` answers; jobs: ${jobs(adapter)}`)));
}
