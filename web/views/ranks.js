// The reports of a training's ranks: how often samples were drawn, and each rank's own figures.
import {h, svg, foreign} from '../widgets/dom.js';
import * as format from '../data/format.js';
import {cell, stacked} from '../widgets/stacked_table.js';

const TIMES_DRAWN = ['once', 'twice', '3–4 times', '5–8 times', '9–16 times', '17–32 times', '33–64 times', 'oftener'];

export function histogram(training, ranks) {
  const draws = TIMES_DRAWN.map((_, i) => ranks.reduce((sum, rank) => sum + (rank.draws[i] ?? 0), 0));
  const never = Math.max(0, training.unique - training.drawn),
    rows = [['never yet', never], ...TIMES_DRAWN.map((words, i) => [words, draws[i]])];
  const most = Math.max(1, ...rows.map(([, n]) => n));
  return h(
    'section',
    {class: 'figure', 'aria-labelledby': 'draws'},
    h('h3', {id: 'draws'}, 'How often samples were drawn'),
    h(
      'table',
      {class: 'histogram'},
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', {scope: 'col'}, 'drawn'),
          h('th', {scope: 'col', class: 'number'}, 'samples'),
          h('td', null),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map(([words, n]) =>
          h(
            'tr',
            {'data-key': words},
            h('th', {scope: 'row'}, words),
            h('td', {class: 'number'}, format.count(n)),
            h(
              'td',
              {class: 'wide', 'aria-hidden': 'true'},
              svg('svg', {class: 'bar'}, svg('rect', {class: 'c0', width: `${(100 * n) / most}%`, height: '100%'})),
            ),
          ),
        ),
      ),
    ),
  );
}

const RANK_HEADERS = [
  'rank',
  'state',
  'host',
  'received',
  'in the buffer',
  'never drawn',
  'batches',
  'waited for samples',
  'waited for room',
];

function rankRow(rank) {
  return h(
    'tr',
    {'data-key': rank.rank},
    h('th', {scope: 'row'}, rank.rank),
    cell('state', rank.state ?? 'nothing yet'),
    cell('host', rank.host && foreign(rank.host)),
    cell('received', format.count(rank.received)),
    cell('in the buffer', `${format.count(rank.population)} of ${format.count(rank.capacity)}`),
    cell('never drawn', format.count(rank.unseen)),
    cell('batches', format.count(rank.batches)),
    cell('waited for samples', format.duration(rank.sample_wait_seconds ?? 0)),
    cell('waited for room', format.duration(rank.room_wait_seconds ?? 0)),
  );
}

export function ranksView(training, ranks) {
  return h(
    'section',
    {class: 'panel', 'aria-labelledby': 'ranks'},
    h('h2', {id: 'ranks'}, `Ranks of generation ${format.count(training.generation)}`),
    stacked('Ranks', RANK_HEADERS, ranks.map(rankRow)),
  );
}
