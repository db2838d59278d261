// Members as cells of a grid: where each lies, and in which colour. Members are laid out in rows. Where they are too many for that, a cell is a
// block of 4, 16, 64, … members that follow one another, and splits into four quarters, a block of the next smaller size each, when it is
// large enough: so that a cell is always a range of members, and stays where it is.
import {NO_MEMBER} from './copy.js';

const SMALLEST = 2.5; // pixels of a cell; smaller ones are drawn together
const LARGEST = 28; // of a cell before it is zoomed
export const ZOOMED = 44; // of a member when zoomed as far as it goes

// n members in a width, and at most a height: {n, level, cols, rows, cell}. Blocks have 4^level members.
export function layOut(n, width, height) {
  let level = 0, blocks = n;
  while (blocks * SMALLEST * SMALLEST > width * height) blocks = Math.ceil(n / 4 ** ++level);
  let cell = Math.min(LARGEST, Math.sqrt((width * height) / blocks)), cols = Math.max(1, Math.floor(width / cell));
  while (Math.ceil(blocks / cols) * cell > height && cell > 1) {
    cell -= 0.05;
    cols = Math.floor(width / cell);
  }
  if (cell >= 6) cell = Math.floor(cell);
  cols = Math.min(blocks, Math.floor(width / cell));
  return {n, level, cols, rows: Math.ceil(blocks / cols), cell};
}

// The bits of a small number, each followed by a 0.
function spread(x) {
  x = (x | (x << 8)) & 0x00ff00ff;
  x = (x | (x << 4)) & 0x0f0f0f0f;
  x = (x | (x << 2)) & 0x33333333;
  return (x | (x << 1)) & 0x55555555;
}

// The block of 4^level members at a place that is counted in cells of that level.
export function blockAt(layout, level, x, y) {
  const depth = layout.level - level, part = 2 ** depth, col = Math.floor(x / part), row = Math.floor(y / part);
  if (col < 0 || col >= layout.cols || row < 0) return -1;
  const block = (row * layout.cols + col) * part * part + (spread(x % part) | (spread(y % part) << 1));
  return block * 4 ** level < layout.n ? block : -1;
}

// The level to draw where a member has so many pixels: single members, if they can be seen.
export function levelFor(layout, pixels) {
  let level = 0;
  while (level < layout.level && pixels * 2 ** level < SMALLEST - 0.01) level++;
  return level;
}

// Codes, the worst first.
const WORST = [4, 5, 6, 2, 1, 0, 3], RANK = new Uint8Array(NO_MEMBER + 1).fill(WORST.length);
WORST.forEach((code, rank) => (RANK[code] = rank));

const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

// The colours of blocks. Those of many members are remembered until the members change.
export class Tints {
  levels = new Map();

  // chosen: {codes: whether members in a state are, mask: those that are, or null, from, to: indices, inclusive}. Others are faint.
  set(states, chosen, palette, isMixed) {
    const same = this.chosen && this.states === states && this.palette === palette && this.isMixed === isMixed &&
      this.chosen.mask === chosen.mask && this.chosen.codes.every((on, code) => on === chosen.codes[code]);
    Object.assign(this, {states, chosen, palette, isMixed});
    if (same) return;
    this.levels.clear();
    this.faint = pixel(palette.faint);
    this.plain = Uint32Array.from(palette.states, pixel);
    this.ofCode = Uint32Array.from([...this.plain].map((tint, code) => (chosen.codes[code] ? tint : this.faint)).concat(0));
  }

  changed(indices) {
    if (indices === null) return this.levels.clear();
    for (const [level, tints] of this.levels)
      for (const block of new Set(indices.map(index => Math.floor(index / 4 ** level)))) tints[block] = this.ofBlock(block, level);
  }

  ofBlock(block, level) {
    const size = 4 ** level, end = Math.min((block + 1) * size, this.states.length);
    return (this.isMixed ? this.mix : this.worst).call(this, block * size, end);
  }

  worst(from, end) {
    const {states, chosen: {codes, mask}} = this;
    let best = WORST.length, any = false;
    for (let i = from; i < end; i++) {
      const code = states[i];
      any ||= code !== NO_MEMBER;
      if (RANK[code] < best && codes[code] && (mask === null || mask[i])) best = RANK[code];
    }
    return best < WORST.length ? this.plain[WORST[best]] : any ? this.faint : 0;
  }

  mix(from, end) {
    const {states, palette, chosen: {codes, mask}} = this;
    let r = 0, g = 0, b = 0, n = 0, any = false;
    for (let i = from; i < end; i++) {
      const code = states[i];
      any ||= code !== NO_MEMBER;
      if (!codes[code] || (mask !== null && !mask[i])) continue;
      const tint = palette.states[code];
      r += tint[0];
      g += tint[1];
      b += tint[2];
      n++;
    }
    return n > 0 ? pixel([r / n, g / n, b / n]) : any ? this.faint : 0;
  }

  ofLevel(level) {
    const known = this.levels.get(level);
    if (known) return known;
    const tints = new Uint32Array(Math.ceil(this.states.length / 4 ** level));
    for (let block = 0; block < tints.length; block++) tints[block] = this.ofBlock(block, level);
    this.levels.set(level, tints);
    return tints;
  }

  // One member.
  of(index) {
    const code = this.states[index], {mask} = this.chosen;
    return code !== NO_MEMBER && mask !== null && !mask[index] ? this.faint : this.ofCode[code];
  }

  // A function from block to colour, within the range that is chosen.
  reader(level) {
    const {from, to} = this.chosen, size = 4 ** level, tints = level > 0 ? this.ofLevel(level) : null;
    return block => {
      const first = block * size, last = first + size - 1;
      const tint = tints === null ? this.of(block) : tints[block];
      if (tint === 0 || (first >= from && last <= to)) return tint;
      if (last < from || first > to) return this.faint;
      return (this.isMixed ? this.mix : this.worst).call(this, Math.max(first, from), Math.min(last + 1, to + 1, this.states.length));
    };
  }
}

// One pixel a cell into a picture, from the cell (x, y) on.
export function paint(pixels, stride, layout, level, {x, y, cols, rows}, tintOf) {
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const block = blockAt(layout, level, x + col, y + row);
      pixels[row * stride + col] = block < 0 ? 0 : tintOf(block);
    }
  }
}
