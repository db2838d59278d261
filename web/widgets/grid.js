// All members of an ensemble as a picture that can be zoomed and moved. It draws itself; the table beside it
// (views/grid_table.js) shows the same.
import {h} from './dom.js';
import {blockAt, layOut, levelFor, paint, Tints, ZOOMED} from './cells.js';
import {countStates, NAMES, NO_MEMBER} from '../data/snapshot.js';
import {count} from '../data/format.js';
import {SIGNS} from '../data/states.js';

const HEIGHT = 460, WITH_GAPS = 6, WITH_SIGNS = 15; // pixels of a cell

const rgb = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));

const palettes = new Map(), darkness = matchMedia('(prefers-color-scheme: dark)');

// The colours of the page, which change with the time of day. They are read once, since reading them right after a
// change of the page is slow.
export function palette() {
  const isDark = darkness.matches;
  if (palettes.has(isDark)) return palettes.get(isDark);
  const style = getComputedStyle(document.documentElement), text = name => style.getPropertyValue(`--${name}`).trim(),
    read = name => rgb(text(name));
  palettes.set(isDark, {states: NAMES.map(read), faint: read('faint'), text: text('text'), quiet: text('quiet'),
    line: text('line'), panel: text('panel'),
    unchosen: text('unchosen')});
  return palettes.get(isDark);
}

// Replaces an element's text only if it differs, since any replacement makes the browser lay out the page again.
export function tell(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Members in words: "7.12", or "7.16 to 7.31".
export function rangeInWords(id, from, to) {
  return from === to ? `${id}.${from}` : `${id}.${from} to ${id}.${to}`;
}

export class Grid {
  // actions: {open(index), choose(from, to)}
  constructor(element, id) {
    this.id = id;
    this.tints = new Tints();
    this.zoom = 1;
    this.x = this.y = 0; // of what is at the top left, in pixels of the zoomed grid
    this.pointers = new Map();
    this.small = document.createElement('canvas');
    this.canvas = h('canvas', {class: 'grid', tabindex: '0', role: 'img', 'aria-label': 'Members by state',
      'aria-describedby': 'grid-status'});
    this.status = h('p', {id: 'grid-status', class: 'quiet grid-status'}, 'Loading…');
    element.append(this.canvas, this.status);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
  }

  recolour() {
    if (this.palette !== palette()) this.sprites = null;
    this.palette = palette();
  }

  // wish: {states, chosen, isMixed, actions}
  set(wish) {
    this.wish = wish;
    if (wish.states === null) return;
    if (wish.states.length === 0) {
      tell(this.status, 'No member yet.');
      return;
    }
    this.recolour();
    this.tints.set(wish.states, wish.chosen, this.palette, wish.isMixed);
    if (this.layout?.n !== wish.states.length) this.resize();
    this.soon();
  }

  changed(indices) {
    if (this.wish?.states) this.tints.changed(indices);
    this.soon();
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth, states = this.wish?.states;
    if (!states || states.length === 0 || width === 0) return;
    const tallest = Math.max(200, Math.min(HEIGHT, width * 0.8, innerHeight * 0.6)), ratio = devicePixelRatio;
    if (this.layout?.n === states.length && this.laidOutFor === `${width} ${tallest} ${ratio}`) return;
    this.laidOutFor = `${width} ${tallest} ${ratio}`;
    this.layout = layOut(states.length, width, tallest);
    this.width = this.layout.cols * this.layout.cell;
    this.height = this.layout.rows * this.layout.cell;
    this.ratio = ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.small.width = Math.ceil(this.width / 2) + 3;
    this.small.height = Math.ceil(this.height / 2) + 3;
    this.pixels = this.small.getContext('2d').createImageData(this.small.width, this.small.height);
    this.move(this.zoom, this.x, this.y);
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.layout && this.wish.states && this.canvas.isConnected) this.draw();
    });
  }

  // Pixels of a member, and of a cell that is drawn.
  scale() {
    const member = (this.layout.cell * this.zoom) / 2 ** this.layout.level, level = levelFor(this.layout, member);
    return {level, size: member * 2 ** level};
  }

  window({size}) {
    const x = Math.floor(this.x / size), y = Math.floor(this.y / size);
    return {x, y, cols: Math.ceil((this.x + this.width) / size) - x,
      rows: Math.ceil((this.y + this.height) / size) - y};
  }

  draw() {
    const scale = this.scale(), seen = this.window(scale), context = this.canvas.getContext('2d'), {ratio} = this;
    const size = scale.size * ratio, left = seen.x * size - this.x * ratio, top = seen.y * size - this.y * ratio;
    paint(new Uint32Array(this.pixels.data.buffer), this.small.width, this.layout, scale.level, seen,
      this.tints.reader(scale.level));
    this.small.getContext('2d').putImageData(this.pixels, 0, 0, 0, 0, seen.cols, seen.rows);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, seen.cols, seen.rows, left, top, seen.cols * size, seen.rows * size);
    if (scale.size >= WITH_GAPS) this.drawGaps(context, seen, size, left, top);
    if (scale.level === 0 && scale.size >= WITH_SIGNS) this.drawSigns(context, seen, size, left, top);
    this.drawPointedAt(context, scale);
    this.say(scale);
    if (this.canvas.dataset.level !== String(scale.level)) this.canvas.dataset.level = scale.level;
  }

  drawGaps(context, seen, size, left, top) {
    const gap = Math.max(1, Math.round(size / 14));
    for (let col = 1; col <= seen.cols; col++)
      context.clearRect(Math.round(left + col * size) - gap, 0, gap, this.canvas.height);
    for (let row = 1; row <= seen.rows; row++)
      context.clearRect(0, Math.round(top + row * size) - gap, this.canvas.width, gap);
  }

  // The sign of each state on its colour, drawn once.
  spritesOf(size) {
    if (this.sprites?.size === size) return this.sprites;
    this.sprites = {size, of: NAMES.map((name, code) => {
      const canvas = document.createElement('canvas'), context = canvas.getContext('2d'),
        [r, g, b] = this.palette.states[code];
      canvas.width = canvas.height = size;
      context.font = `${Math.round(size * 0.5)}px system-ui, sans-serif`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillStyle = 0.3 * r + 0.59 * g + 0.11 * b > 125 ? 'rgb(0 0 0 / .75)' : 'rgb(255 255 255 / .95)';
      context.fillText(SIGNS[name], size / 2, size / 2);
      return canvas;
    })};
    return this.sprites;
  }

  drawSigns(context, seen, size, left, top) {
    const {of} = this.spritesOf(Math.round(size)), {states, chosen: {codes, mask, from, to}} = this.wish;
    for (let row = 0; row < seen.rows; row++) {
      for (let col = 0; col < seen.cols; col++) {
        const i = blockAt(this.layout, 0, seen.x + col, seen.y + row);
        if (i >= 0 && i >= from && i <= to && codes[states[i]] && (mask === null || mask[i]))
          context.drawImage(of[states[i]], Math.round(left + col * size), Math.round(top + row * size));
      }
    }
  }

  drawPointedAt(context, {size}) {
    if (!this.pointer || this.pointedAt() === null) return;
    const at = [(this.pointer.x + this.x) / size, (this.pointer.y + this.y) / size].map(Math.floor), {ratio} = this;
    context.strokeStyle = this.palette.text;
    context.lineWidth = Math.max(1, Math.round(1.5 * ratio));
    context.strokeRect((at[0] * size - this.x) * ratio, (at[1] * size - this.y) * ratio, size * ratio, size * ratio);
  }

  // The members at a place of the picture, {from, to}, or null.
  membersAt({x, y}) {
    const {level, size} = this.scale();
    const block = blockAt(this.layout, level, Math.floor((x + this.x) / size), Math.floor((y + this.y) / size));
    if (block < 0) return null;
    return {from: block * 4 ** level, to: Math.min((block + 1) * 4 ** level, this.layout.n) - 1};
  }

  pointedAt() {
    return this.pointer && this.layout ? this.membersAt(this.pointer) : null;
  }

  inWords({from, to}) {
    const {states} = this.wish;
    if (from === to) return states[from] === NO_MEMBER ? 'not in this ensemble' : NAMES[states[from]];
    const counts = countStates(states, from, to + 1);
    return NAMES.map((name, code) => counts[code] > 0 && `${count(counts[code])} ${name}`).filter(Boolean).join(', ');
  }

  say({level}) {
    const at = this.brush ? this.brushed() : this.pointedAt();
    const colour = this.wish.isMixed ? 'their mix' : 'the worst of them';
    const cell = level === 0 ? 'A cell is a member.'
      : `A cell is ${count(4 ** level)} members, in the colour of ${colour}.`;
    tell(this.status, at ? `${rangeInWords(this.id, at.from, at.to)}: ${this.inWords(at)}` : cell);
  }

  // Moves to a zoom and a place, as far as the grid goes.
  move(zoom, x, y) {
    const {layout} = this, most = Math.max(1, (ZOOMED * 2 ** layout.level) / layout.cell);
    this.zoom = Math.min(most, Math.max(1, zoom));
    this.x = Math.max(0, Math.min(x, this.width * (this.zoom - 1)));
    this.y = Math.max(0, Math.min(y, this.height * (this.zoom - 1)));
    this.canvas.classList.toggle('is-zoomed', this.zoom > 1);
    this.soon();
  }

  // The point under the pointer stays there.
  zoomBy(factor, at = {x: this.width / 2, y: this.height / 2}) {
    if (!this.layout) return;
    const before = this.zoom, {layout} = this, most = Math.max(1, (ZOOMED * 2 ** layout.level) / layout.cell);
    const by = Math.min(most, Math.max(1, before * factor)) / before;
    this.move(before * by, (this.x + at.x) * by - at.x, (this.y + at.y) * by - at.y);
  }

  fit() {
    if (this.layout) this.move(1, 0, 0);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.x, y: event.clientY - box.y};
  }

  listen() {
    const on = (kind, action, options) => this.canvas.addEventListener(
      kind, event => this.layout && action.call(this, event), options);
    on('pointerdown', this.onDown);
    on('pointermove', this.onMove);
    on('pointerup', this.onUp);
    on('pointercancel', this.onCancel);
    on('pointerleave', () => this.point(null));
    on('wheel', this.onWheel, {passive: false});
    on('keydown', this.onKey);
  }

  point(place) {
    this.pointer = place;
    this.soon();
  }

  onDown(event) {
    if (event.button !== 0) return;
    const place = this.place(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, place);
    this.start = this.pointers.size === 1 ? place : null; // a second finger: neither a click nor a brush
    this.brush = this.start && (event.shiftKey || this.isChoosing)
      ? {first: this.membersAt(place), last: this.membersAt(place)} : null;
  }

  onMove(event) {
    const place = this.place(event), before = this.pointers.get(event.pointerId);
    if (!before) return this.point(event.pointerType === 'touch' ? null : place);
    if (this.start && Math.hypot(place.x - this.start.x, place.y - this.start.y) > 4) this.start = null;
    if (this.brush) this.brushTo(place);
    else if (this.pointers.size === 2) this.pinch(event.pointerId, before, place);
    else if (!this.start) this.move(this.zoom, this.x + before.x - place.x, this.y + before.y - place.y);
    this.pointers.set(event.pointerId, place);
    this.point(place);
  }

  pinch(moved, before, place) {
    const [, other] = [...this.pointers].find(([pointer]) => pointer !== moved);
    const far = Math.hypot(before.x - other.x, before.y - other.y),
      now = Math.hypot(place.x - other.x, place.y - other.y);
    if (far > 0) this.zoomBy(now / far, {x: (place.x + other.x) / 2, y: (place.y + other.y) / 2});
    this.move(this.zoom, this.x + (before.x - place.x) / 2, this.y + (before.y - place.y) / 2);
  }

  // From the member where it began to that under the pointer, whichever comes first.
  brushed() {
    const {first, last} = this.brush;
    return first && last && {from: Math.min(first.from, last.from), to: Math.max(first.to, last.to)};
  }

  brushTo(place) {
    this.brush.last = this.membersAt(place) ?? this.brush.last;
    const range = this.brushed();
    if (range) this.tints.set(this.wish.states, {...this.wish.chosen, ...range}, this.palette, this.wish.isMixed);
  }

  onUp(event) {
    const {brush, start} = this;
    this.forget(event);
    if (brush && !start) {
      const range = brush.first && brush.last && {from: Math.min(brush.first.from, brush.last.from),
        to: Math.max(brush.first.to, brush.last.to)};
      if (range) this.wish.actions.choose(range.from, range.to);
    } else if (start) this.click(this.place(event));
  }

  forget(event) {
    this.pointers.delete(event.pointerId);
    this.start = this.brush = null;
    this.set(this.wish);
  }

  onCancel(event) {
    this.forget(event);
    this.point(null);
  }

  // A member is opened; of many, what is under the pointer is looked at more closely.
  click(place) {
    const at = this.membersAt(place);
    if (at === null || (at.from === at.to && this.wish.states[at.from] === NO_MEMBER)) return;
    if (at.from === at.to) this.wish.actions.open(at.from);
    else this.zoomBy(4, place);
  }

  // The page scrolls, unless the grid is in use or was asked for.
  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas) return;
    if (event.deltaY > 0 && this.zoom === 1 && !event.ctrlKey) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode === 0 ? 0.002 : 0.05)), this.place(event));
  }

  onKey(event) {
    const step = 60, moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step],
      ArrowDown: [0, step]}[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves && this.zoom > 1) this.move(this.zoom, this.x + moves[0], this.y + moves[1]);
    else if (event.key === '+' || event.key === '=') this.zoomBy(1.5);
    else if (event.key === '-') this.zoomBy(1 / 1.5);
    else if (event.key === '0' || event.key === 'Home') this.fit();
    else return;
    event.preventDefault();
  }
}
