// The grid of members with what belongs to it: zoom, choosing a range, what a cell shows, and the table that says the
// same.
import {h, island} from '../widgets/dom.js';
import {choosingForm} from './choice_form.js';
import {addressOf} from '../data/member_filter.js';
import {count} from '../data/format.js';
import {Grid} from '../widgets/grid.js';
import {MOST} from '../data/cache.js';
import {rangesTable} from './grid_table.js';

const FEW = 60, LARGE = 15000; // members that are seen well at once; those that may be drawn together

const go = address => (location.hash = address);

function tools(kept, total, redraw) {
  const grid = action => () => kept.grid && action(kept.grid);
  const choose = grid(one => {
    one.isChoosing = !one.isChoosing;
    redraw();
  });
  const isLarge = total > LARGE;
  return h('div', {class: 'tools', role: 'group', 'aria-label': 'Look at the grid'},
    h('button', {'data-key': 'choose', 'aria-pressed': String(kept.grid?.isChoosing === true),
      title: 'Drag over the grid to choose a range; also with Shift', onclick: choose}, 'Choose a range'),
    isLarge && h('select', {'data-key': 'cells', 'aria-label': 'What a cell of several members shows',
      onchange: event => ((kept.isMixed = event.target.value === 'mix'), redraw())},
      h('option', {value: 'worst', selected: !kept.isMixed}, 'Worst state'),
        h('option', {value: 'mix', selected: kept.isMixed}, 'Mix of states')),
    total > FEW && h('button', {'data-key': 'out', 'aria-label': 'Zoom out', onclick: grid(one => one.zoomBy(1 / 2))},
      '−'),
    total > FEW && h('button', {'data-key': 'in', 'aria-label': 'Zoom in', onclick: grid(one => one.zoomBy(2))}, '+'),
    total > FEW && h('button', {'data-key': 'fit', onclick: grid(one => one.fit())}, 'All'));
}

function table(ensemble, kept, chosen, parameters, redraw) {
  const toggle = event => {
    if (kept.isTableOpen === event.target.open) return;
    kept.isTableOpen = event.target.open;
    redraw();
  };
  return h('details', {ontoggle: toggle}, h('summary', null, 'As a table'),
    kept.isTableOpen && chosen?.isWhole
      && h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Members by range'},
      rangesTable(ensemble.id, kept.snapshot.states, chosen, chosen.has,
        (from, to) => addressOf(ensemble.id, parameters, {from, to}))));
}

const parametersOf = kept => kept.sampled().fields.filter(({parameter}) => parameter !== undefined);

export function mapView(ensemble, kept, filter, parameters, redraw) {
  const {id} = ensemble;
  if (ensemble.count > MOST)
    return h('section', {class: 'panel', 'data-key': 'map', 'aria-labelledby': 'map'}, h('h2', {id: 'map'}, 'Grid'),
      h('p', {class: 'empty'}, `A page can hold the states of ${count(MOST)} members, and these are more.`));
  const chosen = kept.chosen(filter);
  const actions = {open: index => go(`#/ensembles/${id}/members/${index}`),
    choose: (from, to) => go(addressOf(id, parameters, {from, to}))};
  return h('section', {class: 'panel', 'data-key': 'map', 'aria-labelledby': 'map'},
    h('div', {class: 'panel-head'}, h('h2', {id: 'map'}, 'Grid'), tools(kept, ensemble.count, redraw)),
    island('div', {class: 'map', 'data-key': `grid ${id}`}, element => {
      element.grid ??= new Grid(element, id);
      kept.grid = element.grid;
      element.grid.set({states: chosen && kept.snapshot.states, chosen, isMixed: kept.isMixed, actions});
    }),
    table(ensemble, kept, chosen, parameters, redraw),
    choosingForm(id, kept, parametersOf(kept), filter, parameters, redraw));
}
