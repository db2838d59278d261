// A copy of the states of an ensemble's members, a byte each, kept right by what has changed since the event that it
// knows.
import * as api from './api.js';
import {MEMBER_STATES} from './tables.js';

// by their codes
export const NAMES = MEMBER_STATES.map(({name}) => name);
export const NO_MEMBER = NAMES.length; // a place whose member is in another ensemble of the family
const CODES = new Map(NAMES.map((name, code) => [name, code]));
const ZERO = 48; // '0'

export class Snapshot {
  // changed(indices): what is new; null: everything may be.
  constructor(id, changed) {
    this.path = `v1/ensembles/${id}/states`;
    this.changed = changed;
    this.states = null;
    this.event = null;
  }

  // Resolves once the copy holds all that had happened when it was called.
  async catchUp() {
    this.again = true;
    this.asking ??= this.ask().finally(() => (this.asking = null));
    return this.asking;
  }

  async ask() {
    while (this.again) {
      this.again = false;
      if (this.states === null) await this.getAll();
      else await this.getChanges();
    }
  }

  async getAll() {
    this.takeAll(await api.bytes(this.path));
  }

  takeAll({bytes, headers}) {
    for (let i = 0; i < bytes.length; i++) bytes[i] = bytes[i] < ZERO ? NO_MEMBER : bytes[i] - ZERO;
    this.states = bytes;
    this.event = headers.get('Last-Event-ID');
    this.changed(null);
  }

  async getChanges() {
    for (let more = true; more; ) {
      const reply = await api.bytes(`${this.path}?since=${this.event}&otherwise=states`);
      if (!reply.headers.get('Content-Type').startsWith('application/json')) return this.takeAll(reply);
      const answer = JSON.parse(new TextDecoder().decode(reply.bytes));
      this.take(answer.members);
      this.event = answer.event;
      more = answer.more;
    }
  }

  // Members of an open ensemble become more.
  grow(n) {
    const longer = new Uint8Array(n).fill(NO_MEMBER);
    longer.set(this.states);
    this.states = longer;
  }

  take(members) {
    const changed = [], before = this.states.length,
      n = Object.keys(members).reduce((most, key) => Math.max(most, Number(key) + 1), before);
    if (n > before) this.grow(n);
    for (const [key, name] of Object.entries(members)) {
      const index = Number(key), code = CODES.get(name);
      if (this.states[index] === code) continue;
      this.states[index] = code;
      changed.push(index);
    }
    if (changed.length > 0) this.changed(n > before ? null : changed);
  }
}

// Returns how many of the members with indices from `from` to before `end` are in which state, by code.
export function countStates(states, from, end, isChosen) {
  const counts = new Uint32Array(NO_MEMBER + 1);
  for (let i = from; i < end; i++) if (!isChosen || isChosen(i)) counts[states[i]]++;
  return counts;
}
