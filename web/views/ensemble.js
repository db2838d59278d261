// One ensemble: how it is doing, why it does not go on, its training, its failures and its members.
import {h, foreign} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {bar, pill, sign, swatch} from '../widgets/state_signs.js';
import {controls} from './controls.js';
import {familyView, loadFamily} from './family.js';
import {facts, loadMetrics, trainingSummary} from './training_summary.js';
import {failuresView, loadFailures} from './failures.js';
import {loadMembers, membersView} from './member_table.js';
import {addressOf, readFilter} from '../data/member_filter.js';
import {keptOf, MOST} from '../data/cache.js';
import {mapView} from './member_grid.js';
import {plotsView} from './parameter_plots.js';
import {loadRungs, rungsView} from './rungs.js';
import {sentence} from '../widgets/sentence.js';
import {HELP, MEMBERS} from '../data/states.js';
import {filterView} from './filter.js';

async function load(id, parameters, redraw, kept) {
  const ensemble = await api.get(`v1/ensembles/${id}`);
  // the calls below fail likewise, and report it
  if (ensemble.count <= MOST) kept.look(readFilter(parameters), redraw).catch(() => {});
  const [members, failures, metrics, family, rungs] = await Promise.all([
    loadMembers(id, parameters), loadFailures(id), loadMetrics(ensemble.training), loadFamily(ensemble),
      loadRungs(ensemble)]);
  return {ensemble, members, failures, metrics, family, rungs};
}

// The legend of the grid: each state can be chosen, and let go again.
function counts({id, members}, parameters, {states}) {
  const toggled = state => (states.includes(state) ? states.filter(other => other !== state) : [...states, state]);
  return h('ul', {class: 'plain counts', 'aria-label': 'Members by state'}, MEMBERS.map(state =>
    h('li', {'data-key': state, title: HELP[state]},
      h('a', {href: addressOf(id, parameters, {states: toggled(state)}), class: members[state] === 0 && 'none',
      'aria-current': states.includes(state) && 'true'}, swatch(state), ' ', sign(state), ' ',
        h('b', null, format.count(members[state])), ' ', state))));
}

const to = id => h('a', {href: `#/ensembles/${id}`}, `#${id}`);

const timed = (time, text) => time && h('time', {datetime: time, title: format.moment(time)}, text);

function summary(ensemble) {
  const {allocation} = ensemble;
  return facts([
    ['rate', ensemble.ended ? null : format.rate(ensemble.rate)],
    ['estimated end', timed(ensemble.eta,
      [format.until(ensemble.eta), ' ', h('span', {class: 'quiet'}, format.minute(ensemble.eta))])],
    ['submitted', timed(ensemble.created, format.age(ensemble.created))],
    ['ended', timed(ensemble.ended, ensemble.ended && format.age(ensemble.ended))],
    ['took', ensemble.ended && format.between(ensemble.created, ensemble.ended)],
    ['suggestions', ensemble.open ? 'it takes more members, until it is closed' : null],
    ['width', format.count(ensemble.width)],
    ['batch system', foreign(ensemble.adapter)],
    ['allocations', allocation && `${format.count(allocation.running)} running, `
      + `${format.count(allocation.asked)} asked for, of ${format.count(allocation.count)}`],
    ['goes on from', ensemble.follow_up_of && to(ensemble.follow_up_of)],
    ['goes on in', ensemble.follow_ups.length > 0 ? ensemble.follow_ups.map(to) : null],
  ]);
}

const why = ({notice, reason}) => (notice || reason) && h('p', {class: 'notice'}, sentence(notice?.text ?? reason));

function render({ensemble, members, failures, metrics, family, rungs}, parameters, {isOperator, act, redraw}, kept) {
  const filter = readFilter(parameters);
  return [
    h('nav', {class: 'crumbs', 'aria-label': 'Where this is'}, h('a', {href: '#/'}, 'Ensembles'), ' / '),
    h('div', {class: 'head'},
      h('h1', {tabindex: '-1'}, foreign(ensemble.name), ' ', h('span', {class: 'id'}, `#${ensemble.id}`)),
        pill(ensemble.state),
      isOperator && controls(ensemble, act)),
    why(ensemble),
    h('section', {class: 'panel', 'aria-label': 'Progress'},
      bar(ensemble.members, ensemble.count), counts(ensemble, parameters, filter), summary(ensemble)),
    trainingSummary(ensemble.training, metrics),
    rungsView(ensemble, rungs),
    filterView(ensemble.id, parameters, filter, kept.count(filter), ensemble.count),
    mapView(ensemble, kept, filter, parameters, redraw),
    failuresView(ensemble, failures),
    plotsView(ensemble, kept, filter, parameters, redraw),
    familyView(ensemble, family),
    membersView(ensemble, members, parameters, filter),
    h('p', {class: 'quiet'}, h('a', {href: `#/ensembles/${ensemble.id}/spec`}, 'Spec'), ' · Files: ',
      h('code', null, foreign(ensemble.dir))),
  ];
}

export function ensembleView(id, parameters, context) {
  // an answer that comes when another ensemble is looked at is not to take the place of what is kept of that
  const kept = keptOf(id);
  return {
    title: `Ensemble ${id}`,
    events: `v1/events?ensemble=${id}`,
    every: 5000,
    key: `ensemble ${id}`,
    load: () => load(id, parameters, context.redraw, kept),
    render: data => render(data, parameters, context, kept),
  };
}
