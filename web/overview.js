// All ensembles, newest first, and before them those that need somebody.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {bar, inWords, pill, sign} from './states.js';

const PAGE = 50;
const URGENT = new Set(['held', 'ending', 'adapter_not_here', 'adapter_not_set_up', 'adapter_silent', 'state_not_written', 'no_room', 'not_submitted',
  'training_silent']);

const RECENT = 7 * 86400 * 1000; // after that, what has failed is history
const MOST = 6;

const isOver = ensemble => ensemble.ended !== null;

// Why somebody should look at it, or null.
function trouble(ensemble) {
  if (isOver(ensemble) && Date.now() - Date.parse(ensemble.ended) > RECENT) return null;
  if (ensemble.notice && URGENT.has(ensemble.notice.code)) return ensemble.notice.text;
  if (ensemble.state === 'failed') return ensemble.reason ?? 'It has failed.';
  if (ensemble.training?.state === 'failed') return `Its training has failed: ${ensemble.training.reason ?? 'no reason is known'}`;
  if (ensemble.members.failed > 0) return `${format.count(ensemble.members.failed)} of ${format.count(ensemble.count)} members have failed.`;
  return null;
}

const link = ensemble => `#/ensembles/${ensemble.id}`;

const title = ensemble => [foreign(ensemble.name), ' ', h('span', {class: 'id'}, `#${ensemble.id}`)];

function needs(ensembles) {
  const list = ensembles.map(ensemble => [ensemble, trouble(ensemble)]).filter(([, why]) => why !== null);
  return list.length > 0 && h('section', {class: 'needs', 'aria-labelledby': 'needs'},
    h('h2', {id: 'needs'}, 'Needs a person'),
    h('ul', {class: 'plain'}, list.slice(0, MOST).map(([ensemble, why]) =>
      h('li', {'data-key': ensemble.id}, sign('failed'), h('div', null, h('a', {href: link(ensemble)}, title(ensemble)), h('p', null, foreign(why)))))),
    list.length > MOST && h('p', {class: 'quiet'}, `and ${list.length - MOST} more, below`));
}

function pace(ensemble) {
  if (isOver(ensemble)) return h('span', {title: format.moment(ensemble.ended)}, `ended ${format.age(ensemble.ended)}`);
  if (ensemble.eta) return h('span', {title: format.moment(ensemble.eta)}, `${format.rate(ensemble.rate)}, done ${format.until(ensemble.eta)}`);
  return ensemble.notice ? foreign(ensemble.notice.text) : 'no estimate yet';
}

function row(ensemble) {
  return h('li', {class: 'card', 'data-key': ensemble.id},
    h('div', {class: 'card-head'}, h('a', {class: 'card-title', href: link(ensemble)}, title(ensemble)), pill(ensemble.state)),
    bar(ensemble.members, ensemble.count),
    h('p', {class: 'quiet card-foot'},
      h('span', null, inWords(ensemble.members)),
      h('span', null, pace(ensemble)),
      h('span', {title: format.moment(ensemble.created)}, `submitted ${format.age(ensemble.created)}`)));
}

function empty() {
  return h('div', {class: 'empty'},
    h('p', null, 'There is no ensemble yet.'),
    h('pre', null, 'stretto submit spec.json'));
}

export function overview(parameters) {
  const cursor = parameters.get('cursor');
  return {
    title: 'Ensembles',
    events: 'v1/events',
    every: 10000,
    load: () => api.get(`v1/ensembles?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`),
    render: ({ensembles, next}) => [
      h('h1', {tabindex: '-1'}, 'Ensembles'),
      needs(ensembles),
      ensembles.length === 0 ? empty() : h('ul', {class: 'plain cards', 'aria-label': 'All ensembles'}, ensembles.map(row)),
      h('nav', {class: 'pages', 'aria-label': 'Pages'},
        cursor && h('a', {href: '#/'}, 'Newest'),
        next && h('a', {href: `#/?cursor=${encodeURIComponent(next)}`}, 'Older')),
    ],
  };
}
