// The data of the ensemble on display that the page keeps from one address to the next: the states of its members, and
// which of them the filter has found.
import * as api from './api.js';
import {Snapshot, NAMES} from './snapshot.js';
import {fieldsOf, scaleOf} from './fields.js';
import {isSearching, queryOf} from './member_filter.js';
import {choose, Sample} from './sample.js';

export const MOST = 10_000_000; // members of which a page holds the states

const FURTHER = 1000; // members of a filter that are plotted beside the sample of all

const NOT_FOUND = 45; // '-'

const searchOf = filter => (isSearching(filter) ? queryOf(filter, true).toString() : '');

class Kept {
  constructor(id) {
    this.id = id;
    this.snapshot = new Snapshot(id, indices => this.changed(indices));
    this.found = null; // a byte a member: whether it was found
    this.foundFor = this.wanted = '';
    this.sample = new Sample(id);
    this.choice = null; // which members are plotted: {indices, total, isAll}
    this.further = [];
    this.isMixed = this.isTableOpen = this.isBinsOpen = false;
  }

  changed(indices) {
    this.grid?.changed(indices);
    this.sample.changed(indices);
  }

  // Asks for news, and calls redraw() once it is there. A request that cannot be made now is made by the next look.
  async look(filter, redraw) {
    const search = searchOf(filter), before = this.snapshot.states?.length;
    this.wanted = search;
    await this.snapshot.catchUp();
    if (this.snapshot.states.length !== before) redraw();
    if (search !== '' && this.isOld(search, filter) && (await this.search(search))) redraw();
    await this.plot(filter, redraw);
  }

  // A sample of all members is drawn once, and one of those that a filter leaves beside it; they are asked for again as
  // they change.
  async plot(filter, redraw) {
    const chosen = this.chosen(filter), asked = queryOf(filter).toString();
    if (this.choice === null || this.choiceOf !== this.snapshot.states.length) { // an open ensemble gets more of them
      this.choiceOf = this.snapshot.states.length;
      this.choice = await choose(this.snapshot.states, () => true);
      this.furtherFor = undefined;
      this.sample.version++;
    }
    if (!chosen.isWhole) return;
    if (asked !== this.furtherFor) {
      this.furtherFor = asked;
      const further = asked === '' || this.choice.isAll ? [] : (await choose(this.snapshot.states, chosen.has, FURTHER))
        .indices;
      if (asked !== this.furtherFor) return; // the address has changed meanwhile
      this.further = further;
      this.sample.version++;
    }
    const plotted = this.plotted();
    this.sample.keep(plotted);
    await this.sample.load(plotted, redraw);
  }

  plotted() {
    return this.choice === null ? [] : [...new Set([...this.choice.indices, ...this.further])];
  }

  // Returns the plotted members as far as they are known, and their fields with scales.
  sampled() {
    const {version} = this.sample;
    if (this.known?.version === version) return this.known;
    const lines = this.plotted().map(index => this.sample.lines.get(index)).filter(line => line !== undefined),
      scales = new Map();
    const scale = field => scales.get(field) ?? scales.set(field, scaleOf(field, lines)).get(field);
    this.known = {version, lines, fields: lines.length > 0 ? fieldsOf(lines) : [], scale};
    return this.known;
  }

  // Parameters stay what they are; where and why members failed does not.
  isOld(search, {host, cause}) {
    return search !== this.foundFor || this.found.length !== this.snapshot.states.length
      || ((host !== null || cause !== null) && this.foundAt !== this.snapshot.event);
  }

  // False if something else is looked for meanwhile.
  async search(search) {
    const event = this.snapshot.event, {bytes} = await api.bytes(`v1/ensembles/${this.id}/states?${search}`);
    if (search !== this.wanted) return false;
    this.found = bytes.map(byte => (byte === NOT_FOUND ? 0 : 1));
    this.foundFor = search;
    this.foundAt = event;
    return true;
  }

  // Returns the members that pass the filter, for the grid and for counting; null while they are not known.
  chosen(filter) {
    const {states} = this.snapshot;
    if (states === null) return null;
    const codes = [...NAMES.map(name => filter.states.length === 0 || filter.states.includes(name)), false];
    const from = filter.from ?? 0, to = Math.min(filter.to ?? Infinity, states.length - 1);
    const search = searchOf(filter), mask = search !== '' && search === this.foundFor ? this.found : null;
    const has = index => codes[states[index]] && index >= from && index <= to && (mask === null || mask[index] === 1);
    return {codes, from, to, mask, has, isWhole: search === '' || mask !== null};
  }

  // Returns how many members pass the filter. They are counted again only when members or the filter have changed.
  count(filter) {
    const key = queryOf(filter).toString(), chosen = this.chosen(filter);
    if (key === '' || chosen === null || !chosen.isWhole) return null;
    const {counted} = this, {event} = this.snapshot;
    if (counted?.key === key && counted.event === event && counted.mask === chosen.mask) return counted.found;
    const {states} = this.snapshot, {from, to, mask} = chosen, codes = Uint8Array.from(chosen.codes);
    let found = 0;
    for (let i = from; i <= to; i++) if (mask === null || mask[i] === 1) found += codes[states[i]];
    this.counted = {key, event, mask: chosen.mask, found};
    return found;
  }
}

let kept = null;

export function keptOf(id) {
  if (kept?.id !== id) kept = new Kept(id);
  return kept;
}
