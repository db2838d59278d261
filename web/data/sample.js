// Members with their parameters, for plots: all of them if they are few, else a sample, in which each state has a
// share, and which is the same each time.
import * as api from './api.js';
import {NO_MEMBER} from './snapshot.js';

export const MOST = 2000; // members of a sample
const AT_ONCE = 400; // asked for together

// A number that looks random, the same for the same index: 0 up to 2^32.
export function hashOf(index) {
  let x = Math.imul(index ^ (index >>> 16), 0x45d9f3b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return (x ^ (x >>> 16)) >>> 0;
}

const SLICE = 1 << 17; // members that are looked at before the page may do something else

async function eachMember(states, has, action) {
  for (let at = 0; at < states.length; at += SLICE) {
    if (at > 0) await new Promise(resolve => setTimeout(resolve));
    for (let i = at, end = Math.min(at + SLICE, states.length); i < end; i++)
      if (states[i] !== NO_MEMBER && has(i)) action(i);
  }
}

// At most about so many of those that has(index) says, a promise. Half of the sample is of all of them, half is the
// same number of each state.
export async function choose(states, has, most = MOST) {
  const counts = new Float64Array(NO_MEMBER + 1), list = [];
  await eachMember(states, has, i => counts[states[i]]++);
  const total = counts.reduce((sum, n) => sum + n), kinds = counts.reduce((sum, n) => sum + (n > 0), 0),
    isAll = total <= most;
  const share = counts.map(n => 2 ** 32 * Math.max(most / 2 / total, n > 0 ? most / 2 / kinds / n : 0));
  await eachMember(states, has, i => (isAll || hashOf(i) < share[states[i]]) && list.push(i));
  return {indices: list, total, isAll};
}

export class Sample {
  constructor(id) {
    this.path = `v1/ensembles/${id}/members`;
    this.lines = new Map(); // what is known of members, by index
    this.old = new Set(); // of these, what has changed
    this.version = 0; // another one whenever a member of the sample is another one, or in another state
  }

  changed(indices) {
    const known = indices === null ? [...this.lines.keys()] : indices.filter(index => this.lines.has(index));
    for (const index of known) this.old.add(index);
    this.version += known.length > 0;
  }

  // Forgets those that are not plotted any more.
  keep(indices) {
    if (this.lines.size <= indices.length) return;
    const wanted = new Set(indices);
    for (const index of this.lines.keys()) {
      if (wanted.has(index)) continue;
      this.lines.delete(index);
      this.old.delete(index);
      this.version++;
    }
  }

  // Asks for what is not known of these; told() whenever some of it is there.
  async load(indices, told) {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const wanted = indices.filter(index => !this.lines.has(index)).concat([...this.old].slice(0, AT_ONCE));
      for (let at = 0; at < wanted.length; at += AT_ONCE) {
        const part = wanted.slice(at, at + AT_ONCE);
        for (const index of part) this.old.delete(index);
        for (const line of (await api.get(`${this.path}?metrics=*&index=${part.join(',')}`)).members)
          this.lines.set(line.index, line);
        this.version++;
        told();
      }
    } finally {
      this.isLoading = false;
    }
  }
}
