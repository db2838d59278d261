// A picture of members that is drawn on a canvas, with a line below that says what is under the pointer. Its kinds
// draw, and know what a brush means.
import {h} from './dom.js';
import {palette, tell} from './grid.js';
import {MEMBER_STATES} from '../data/tables.js';

const WEIGHTS = ['QUIET', 'GOOD', 'NONE', 'BUSY', 'CARE', 'BAD'];

const weightOf = code => WEIGHTS.indexOf(MEMBER_STATES[code].style);

// codes of all states: what matters is drawn last
export const ORDER = [...MEMBER_STATES.keys()].sort((a, b) => weightOf(a) - weightOf(b));

export class Picture {
  constructor(element, label) {
    this.canvas = h('canvas', {class: 'plot', role: 'img', 'aria-label': label});
    this.status = h('p', {class: 'quiet grid-status'});
    element.append(this.canvas, this.status);
    this.context = this.canvas.getContext('2d');
    const on = (kind, action) => this.canvas.addEventListener(kind, event => this.wish && action.call(this, event));
    on('pointerdown', this.onDown);
    on('pointermove', this.onMove);
    on('pointerup', this.onUp);
    on('pointercancel', () => this.drop());
    on('pointerleave', () => this.start || this.point(null));
    new ResizeObserver(() => this.resize()).observe(element);
  }

  // wish: {key, lines, states, has, …}, what is to be drawn; if the key stays, nothing of it has changed.
  set(wish) {
    const isSame = this.wish?.key === wish.key && this.palette === palette();
    this.wish = wish;
    this.palette = palette();
    if (!isSame) this.soon();
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth, height = Math.round(Math.max(260, Math.min(420, width * 0.5))),
      ratio = devicePixelRatio;
    if (width === 0 || (width === this.width && height === this.height && ratio === this.ratio)) return;
    Object.assign(this, {width, height, ratio});
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.soon();
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.wish || !this.width || !this.canvas.isConnected) return;
      this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      this.context.clearRect(0, 0, this.width, this.height);
      this.context.font = '12px system-ui, sans-serif';
      this.draw(this.context);
      tell(this.status, this.say());
    });
  }

  colour(code) {
    return `rgb(${this.palette.states[code].join(' ')})`;
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.x, y: event.clientY - box.y};
  }

  point(place) {
    this.pointer = place;
    this.soon();
  }

  onDown(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.start = this.place(event);
    this.isBrushing = false;
  }

  onMove(event) {
    const place = this.place(event);
    if (this.start && Math.hypot(place.x - this.start.x, place.y - this.start.y) > 4) this.isBrushing = true;
    this.point(place);
  }

  onUp(event) {
    const {start, isBrushing} = this, end = this.place(event);
    this.drop();
    if (start && isBrushing) this.brush(start, end);
    else if (start) this.click(end);
  }

  drop() {
    this.start = null;
    this.isBrushing = false;
    this.soon();
  }

  drawBrush(context, x, y, width, height) {
    context.fillStyle = this.palette.text;
    context.globalAlpha = 0.08;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 0.6;
    context.strokeStyle = this.palette.text;
    context.lineWidth = 1;
    context.strokeRect(x, y, width, height);
    context.globalAlpha = 1;
  }

  // A text that is cut if there is no room; with an edge in the colour of the page it stands out from lines below
  // it.
  text(context, words, x, y, room, hasEdge = false) {
    let shown = words;
    while (shown.length > 1 && context.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
    if (hasEdge) {
      context.strokeStyle = this.palette.panel;
      context.lineWidth = 4;
      context.lineJoin = 'round';
      context.strokeText(shown, x, y);
    }
    context.fillText(shown, x, y);
  }
}
