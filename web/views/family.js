// The lineage of an ensemble: the one that it goes on from, its follow-ups, and how the members of all of them are now.
import {h} from '../widgets/dom.js';
import * as api from '../data/api.js';
import * as format from '../data/format.js';
import {bar, inWords, pill} from '../widgets/state_signs.js';

const isAlone = ensemble => ensemble.follow_up_of === null && ensemble.follow_ups.length === 0;

// The family, its first ensemble first; null if an ensemble is all of its own.
export async function loadFamily(ensemble) {
  if (isAlone(ensemble)) return null;
  const [{ensembles, next}, root] = await Promise.all([
    api.get(`v1/ensembles?family=${ensemble.id}&limit=50`),
    api.get(`v1/ensembles/${ensemble.root}`),
  ]);
  return {root, ensembles: ensembles.reverse(), cut: next !== null};
}

function generation(ensemble, current) {
  const isHere = ensemble.id === current,
    name = `#${ensemble.id}`;
  return h(
    'li',
    {'data-key': ensemble.id, 'aria-current': isHere && 'true'},
    isHere ? h('b', null, name) : h('a', {href: `#/ensembles/${ensemble.id}`}, name),
    ' ',
    pill(ensemble.state),
    h(
      'span',
      {class: 'quiet'},
      ` ${inWords(ensemble.members)}; submitted `,
      h('time', {datetime: ensemble.created, title: format.moment(ensemble.created)}, format.age(ensemble.created)),
    ),
  );
}

export function familyView(ensemble, family) {
  if (family === null) return null;
  const {members} = family.root.family,
    total = Object.values(members).reduce((sum, n) => sum + n, 0);
  return h(
    'section',
    {class: 'panel', 'aria-labelledby': 'family'},
    h('h2', {id: 'family'}, 'Follow-ups'),
    h('p', null, 'All members, each where it is now: ', inWords(members)),
    bar(members, total),
    family.cut &&
      h(
        'p',
        {class: 'quiet'},
        'The newest of them, after ',
        h('a', {href: `#/ensembles/${ensemble.root}`}, `#${ensemble.root}`),
        ':',
      ),
    h(
      'ol',
      {class: 'plain lineage'},
      family.ensembles.map(one => generation(one, ensemble.id)),
    ),
  );
}
