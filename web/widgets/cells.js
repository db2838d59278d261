// The cells of a grid of members: their places and colours. Members are laid out in rows. If they are too many for
// that, a cell is a block of 4, 16, 64, … members that follow one another. When it is large enough, it splits into four
// quarters, each a block of the next smaller size. So a cell is always a range of members, and stays where it is.
import {NO_MEMBER} from '../data/snapshot.js';

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

// Returns the shape of a level: how many blocks there are, how many of them are in a cell of the top level, and how
// many that has along a side.
const shapeOf = (layout, level) =>
  ({blocks: Math.ceil(layout.n / 4 ** level), part: 2 ** (layout.level - level), size: 4 ** (layout.level - level)});

// Two functions whose sum is the block at a place: one for its column and one for its row. Both return -1 outside.
const ofColumn = ({cols}, {part, size}, x) => (x < 0 || x >= cols * part ? -1 : Math.floor(x / part) * size
  + spread(x % part));

const ofRow = ({cols}, {part, size}, y) => (y < 0 ? -1 : Math.floor(y / part) * cols * size + (spread(y % part) << 1));

// The block of 4^level members at a place that is counted in cells of that level.
export function blockAt(layout, level, x, y) {
  const shape = shapeOf(layout, level), across = ofColumn(layout, shape, x), down = ofRow(layout, shape, y);
  return across >= 0 && down >= 0 && across + down < shape.blocks ? across + down : -1;
}

// The level to draw if a member has so many pixels: single members, if they can be seen.
export function levelFor(layout, pixels) {
  let level = 0;
  while (level < layout.level && pixels * 2 ** level < SMALLEST - 0.01) level++;
  return level;
}

// Codes, the worst first.
// as ranks: not chosen, and no member
const WORST = [4, 5, 6, 2, 1, 0, 7, 3], FAINT = WORST.length, NOTHING = FAINT + 1;
const UNKNOWN = 1; // no colour, since those are opaque or 0

const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

// The colours of blocks, each found out when it is first looked at, and remembered until its members change.
export class Tints {
  levels = new Map();

  counts = new Uint32Array(NOTHING + 1);

  // chosen: {codes: whether members in a state are, mask: those that are, or null, from, to: indices, inclusive}.
  // Others are faint.
  set(states, chosen, palette, isMixed) {
    const same = this.chosen && this.states === states && this.palette === palette && this.isMixed === isMixed &&
      this.chosen.mask === chosen.mask && this.chosen.codes.every((on, code) => on === chosen.codes[code]);
    Object.assign(this, {states, chosen, palette, isMixed});
    if (same) return;
    this.levels.clear();
    this.ranks = new Uint8Array(NO_MEMBER + 1).fill(FAINT);
    WORST.forEach((code, rank) => chosen.codes[code] && (this.ranks[code] = rank));
    this.ranks[NO_MEMBER] = NOTHING;
    this.colours = WORST.map(code => palette.states[code]);
    this.ofRank = Uint32Array.from([...this.colours, palette.faint].map(pixel).concat(0));
  }

  changed(indices) {
    if (indices === null) return this.levels.clear();
    for (const [level, tints] of this.levels) for (const index of indices)
      tints[Math.floor(index / 4 ** level)] = UNKNOWN;
  }

  // Returns the tint of the members from one index up to but without another.
  ofRange(from, end) {
    return this.isMixed && end - from > 1 ? this.mix(from, end) : this.ofRank[this.worst(from, end)];
  }

  worst(from, end) {
    const {states, ranks, chosen: {mask}} = this;
    let least = NOTHING;
    for (let i = from; i < end && least > 0; i++) {
      let rank = ranks[states[i]];
      if (mask !== null && mask[i] === 0 && rank < FAINT) rank = FAINT;
      if (rank < least) least = rank;
    }
    return least;
  }

  mix(from, end) {
    const {states, ranks, counts, colours, chosen: {mask}} = this;
    counts.fill(0);
    for (let i = from; i < end; i++) {
      const rank = ranks[states[i]];
      counts[mask !== null && mask[i] === 0 && rank < FAINT ? FAINT : rank]++;
    }
    let r = 0, g = 0, b = 0, n = 0;
    colours.forEach((tint, rank) => {
      r += tint[0] * counts[rank];
      g += tint[1] * counts[rank];
      b += tint[2] * counts[rank];
      n += counts[rank];
    });
    return n > 0 ? pixel([r / n, g / n, b / n]) : this.ofRank[counts[FAINT] > 0 ? FAINT : NOTHING];
  }

  ofLevel(level) {
    if (!this.levels.has(level))
      this.levels.set(level, new Uint32Array(Math.ceil(this.states.length / 4 ** level)).fill(UNKNOWN));
    return this.levels.get(level);
  }

  // A function from block to colour, within the range that is chosen.
  reader(level) {
    const {from, to} = this.chosen, n = this.states.length, size = 4 ** level, tints = level > 0 ? this.ofLevel(level)
      : null;
    const whole = block => {
      if (tints === null) return this.ofRange(block, block + 1);
      if (tints[block] === UNKNOWN) tints[block] = this.ofRange(block * size, Math.min((block + 1) * size, n));
      return tints[block];
    };
    if (from <= 0 && to >= n - 1) return whole;
    return block => {
      const first = block * size, last = Math.min(first + size, n) - 1, tint = whole(block);
      if (tint === 0 || (first >= from && last <= to)) return tint;
      return last < from || first > to ? this.ofRank[FAINT]
        : this.ofRange(Math.max(first, from), Math.min(last, to) + 1);
    };
  }
}

// One pixel a cell into a picture, from the cell (x, y) on.
export function paint(pixels, stride, layout, level, {x, y, cols, rows}, tintOf) {
  const shape = shapeOf(layout, level), {blocks} = shape,
    columns = Int32Array.from({length: cols}, (_, col) => ofColumn(layout, shape, x + col));
  for (let row = 0, at = 0; row < rows; row++, at = row * stride) {
    const down = ofRow(layout, shape, y + row);
    for (let col = 0; col < cols; col++) {
      const across = columns[col], block = across + down;
      pixels[at + col] = across < 0 || down < 0 || block >= blocks ? 0 : tintOf(block);
    }
  }
}
