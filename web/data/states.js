// What the states of members look like. The table itself is the daemon's (common/member_state.h).
import {MEMBER_STATES} from './tables.js';

// in the order in which bars and legends show them
export const STATES = [...MEMBER_STATES].sort((a, b) => a.place - b.place);
export const MEMBERS = STATES.map(({name}) => name);
export const HELP = Object.fromEntries(STATES.map(({name, help}) => [name, help]));

// How many of them are not final
export const openOf = members => STATES.reduce((sum, {name, isFinal}) => sum + (isFinal ? 0 : members[name]), 0);

// of ensembles, trainings, attempts and jobs, too
export const SIGNS = {
  ...Object.fromEntries(STATES.map(({name, sign}) => [name, sign])),
  complete: '✓', done: '✓', reached: '■', paused: '‖', timeout: '◐', lost: '?', ended: '■',
};
