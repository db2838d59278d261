// One ensemble: how it is doing, why it does not go on, its training, its failures and its members.
import {h, foreign} from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import {bar, MEMBERS, pill, sign} from './states.js';
import {controls} from './controls.js';
import {facts, loadMetrics, trainingView} from './training.js';
import {failuresView, loadFailures} from './failures.js';
import {inState, loadMembers, membersView} from './members.js';

async function load(id, parameters) {
  const ensemble = await api.get(`v1/ensembles/${id}`);
  const [members, failures, metrics] = await Promise.all([loadMembers(id, parameters), loadFailures(id), loadMetrics(ensemble.training)]);
  return {ensemble, members, failures, metrics};
}

function counts({id, members}, chosen) {
  return h('ul', {class: 'plain counts', 'aria-label': 'Members by state'}, MEMBERS.map(state =>
    h('li', {'data-key': state}, h('a', {href: inState(id, state), class: members[state] === 0 && 'none', 'aria-current': state === chosen && 'true'},
      sign(state), ' ', h('b', null, format.count(members[state])), ' ', state))));
}

const to = id => h('a', {href: `#/ensembles/${id}`}, `#${id}`);

const timed = (time, text) => time && h('time', {datetime: time, title: format.moment(time)}, text);

function summary(ensemble) {
  const {allocation} = ensemble;
  return facts([
    ['rate', ensemble.ended ? null : format.rate(ensemble.rate)],
    ['estimated end', timed(ensemble.eta, ensemble.eta && `${format.until(ensemble.eta)} (${format.clock(ensemble.eta)})`)],
    ['submitted', timed(ensemble.created, format.age(ensemble.created))],
    ['ended', timed(ensemble.ended, ensemble.ended && format.age(ensemble.ended))],
    ['took', ensemble.ended && format.between(ensemble.created, ensemble.ended)],
    ['width', format.count(ensemble.width)],
    ['batch system', foreign(ensemble.adapter)],
    ['allocations', allocation && `${format.count(allocation.running)} running, ${format.count(allocation.asked)} asked for, of ${format.count(allocation.count)}`],
    ['goes on from', ensemble.follow_up_of && to(ensemble.follow_up_of)],
    ['goes on in', ensemble.follow_ups.length > 0 ? ensemble.follow_ups.map(to) : null],
  ]);
}

const why = ({notice, reason}) => (notice || reason) && h('p', {class: 'notice'}, foreign(notice?.text ?? reason));

function render({ensemble, members, failures, metrics}, parameters, {isOperator, act}) {
  return [
    h('nav', {class: 'crumbs', 'aria-label': 'Where this is'}, h('a', {href: '#/'}, 'Ensembles'), ' / '),
    h('div', {class: 'head'},
      h('h1', {tabindex: '-1'}, foreign(ensemble.name), ' ', h('span', {class: 'id'}, `#${ensemble.id}`)), pill(ensemble.state),
      isOperator && controls(ensemble, act)),
    why(ensemble),
    h('section', {class: 'panel', 'aria-label': 'Progress'},
      bar(ensemble.members, ensemble.count), counts(ensemble, parameters.get('state')), summary(ensemble)),
    trainingView(ensemble.training, metrics),
    failuresView(ensemble, failures),
    membersView(ensemble, members, parameters),
    h('p', {class: 'quiet'}, 'Files: ', h('code', null, foreign(ensemble.dir))),
  ];
}

export function ensembleView(id, parameters, context) {
  return {
    title: `Ensemble ${id}`,
    events: `v1/events?ensemble=${id}`,
    every: 5000,
    load: () => load(id, parameters),
    render: data => render(data, parameters, context),
  };
}
