// The choice of ensembles in the overview, their order and their form: as read from the page's address, and as sent to
// the API.

export const STATES = ['running', 'paused', 'complete', 'failed', 'cancelled'];

const PAGE = 50;
const SORT = /^(created|name|state|progress|rate|(last|min|max):.+)$/;
const OF_THE_PAGE = ['chosen', 'shown', 'isTable']; // may change without another list

// {states, name, isTroubled: only those that need a person, sort and order: null for the newest first, isTable, shown:
// columns of metrics, null if nobody has chosen any, chosen: ids to be compared, cursor}
export function readChoice(parameters) {
  const words = name => (parameters.get(name) ?? '').split(',');
  const isTroubled = parameters.has('trouble'); // such a list is not sorted
  const sort = !isTroubled && SORT.test(parameters.get('sort') ?? '') ? parameters.get('sort') : null;
  return {
    states: words('state').filter(name => STATES.includes(name)),
    name: parameters.get('name') ?? '',
    isTroubled,
    sort,
    order: sort === null ? null : parameters.get('order') === 'desc' ? 'desc' : 'asc',
    isTable: parameters.get('as') === 'table',
    shown: parameters.has('show') ? parameters.getAll('show').filter(key => /^(last|min|max):./.test(key)) : null,
    chosen: words('chosen').filter(id => /^\d+$/.test(id)),
    cursor: parameters.get('cursor'),
  };
}

// Returns the choice in the present address. A click changes this one, since the page may not show the last change yet.
export const currentChoice = () => readChoice(new URLSearchParams(location.hash.split('?')[1]));

export const isFiltered = ({states, name, isTroubled}) => states.length > 0 || name !== '' || isTroubled;

function put(query, name, value) {
  if (value !== null && value !== '') query.set(name, value);
}

// Returns the choice as a query of the API.
export function queryOf({states, name, isTroubled, sort, order, cursor}) {
  const query = new URLSearchParams({limit: PAGE});
  put(query, 'state', states.join(','));
  put(query, 'name', name);
  put(query, 'trouble', isTroubled ? '1' : null);
  put(query, 'sort', sort);
  put(query, 'order', order);
  put(query, 'cursor', cursor);
  return query.toString();
}

// The address with changes. Another list begins with its first page.
export function addressOf(choice, changes) {
  const isSameList = Object.keys(changes).every(name => OF_THE_PAGE.includes(name));
  const {states, name, isTroubled, sort, order, isTable, shown, chosen, cursor} = {
    ...choice,
    cursor: isSameList ? choice.cursor : null,
    ...changes,
  };
  const query = new URLSearchParams();
  put(query, 'state', states.join(','));
  put(query, 'name', name);
  put(query, 'trouble', isTroubled ? '1' : null);
  put(query, 'sort', sort);
  put(query, 'order', order);
  put(query, 'as', isTable ? 'table' : null);
  for (const key of shown ?? []) query.append('show', key);
  if (shown?.length === 0) query.set('show', '');
  put(query, 'chosen', chosen.join(','));
  put(query, 'cursor', cursor);
  return `#/${query.size > 0 ? `?${query}` : ''}`;
}
