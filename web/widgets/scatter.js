// Members by two of their fields, each in the colour and with the mark of its state.
import {canChooseBy, conditionOf} from '../data/fields.js';
import {NAMES} from '../data/snapshot.js';
import {ORDER, Picture} from './picture.js';
import {hashOf} from '../data/sample.js';
import {visible} from '../data/text.js';

const RIGHT = 16, TOP = 14, BOTTOM = 44, NEAR = 8;

// Marks differ in shape as well, so that colour is not needed.
const PLUS = (c, x, y) => (c.moveTo(x - 3, y), c.lineTo(x + 3, y), c.moveTo(x, y - 3), c.lineTo(x, y + 3), 'stroke');
const MARKS = {
  succeeded: (c, x, y) => (c.moveTo(x + 2.6, y), c.arc(x, y, 2.6, 0, 7), 'fill'),
  pending: (c, x, y) => (c.moveTo(x + 2.4, y), c.arc(x, y, 2.4, 0, 7), 'stroke'),
  submitted: (c, x, y) => (c.rect(x - 2, y - 2, 4, 4), 'stroke'),
  running: (c, x, y) => (c.moveTo(x - 2.5, y - 3.2), c.lineTo(x + 3.5, y), c.lineTo(x - 2.5, y + 3.2), c.closePath(),
    'fill'),
  failed: (c, x, y) => (c.moveTo(x - 3, y - 3), c.lineTo(x + 3, y + 3), c.moveTo(x + 3, y - 3), c.lineTo(x - 3, y + 3),
    'stroke'),
  unfinished: (c, x, y) => (c.moveTo(x, y - 3.6), c.lineTo(x + 3.6, y), c.lineTo(x, y + 3.6), c.lineTo(x - 3.6, y),
    c.closePath(), 'fill'),
  stopped: (c, x, y) => (c.rect(x - 2.4, y - 2.4, 4.8, 4.8), 'fill'),
  cancelled: (c, x, y) => (c.moveTo(x - 3, y), c.lineTo(x + 3, y), 'stroke'),
};

export class Scatter extends Picture {
  constructor(element) {
    super(element, 'Members by two of their parameters or figures');
  }

  // The area of the points; labels beside the axis need more room or less.
  area(context) {
    const widest = Math.max(...this.wish.scaleY.ticks.map(([, words]) => context.measureText(visible(words)).width));
    const left = Math.ceil(Math.min(72, widest)) + 28;
    return {left, width: this.width - left - RIGHT, height: this.height - TOP - BOTTOM};
  }

  // Members with equal values beside one another.
  spread(scale, index) {
    return scale.isValues ? ((hashOf(index) / 2 ** 32 - 0.5) * 0.6) / scale.ticks.length : 0;
  }

  place2(line) {
    const {x, y, scaleX, scaleY, states} = this.wish, code = states[line.index], {left, width, height} = this.room;
    const across = scaleX.at(x.value(line, code)), up = scaleY.at(y.value(line, code));
    if (across === null || up === null) return null;
    return {x: left + (across + this.spread(scaleX, line.index)) * width,
      y: TOP + (1 - up - this.spread(scaleY, line.index + 1)) * height};
  }

  draw(context) {
    this.room = this.area(context);
    this.drawAxes(context);
    this.points = this.wish.lines.map(line => ({line, at: this.place2(line)})).filter(({at}) => at !== null);
    for (const isChosen of [false, true]) for (const code of ORDER) this.drawPoints(context, code, isChosen);
    if (this.isBrushing)
      this.drawBrush(context, this.start.x, this.start.y, this.pointer.x - this.start.x, this.pointer.y - this.start.y);
    const near = this.near();
    if (near) {
      context.beginPath();
      context.arc(near.at.x, near.at.y, 6, 0, 7);
      context.strokeStyle = this.palette.text;
      context.lineWidth = 1.5;
      context.stroke();
    }
  }

  drawAxes(context) {
    const {x, y, scaleX, scaleY} = this.wish, {left, width, height} = this.room, {line, quiet, text} = this.palette;
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.strokeRect(left, TOP, width, height);
    context.fillStyle = quiet;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const ticks = scaleX.isValues && scaleX.ticks.length > width / 40 ? [] : scaleX.isValues ? scaleX.ticks
      : this.ticksThatFit(context);
    for (const [part, words] of ticks)
      this.text(context, visible(words), left + part * width, TOP + height + 6, scaleX.isValues ? width / ticks.length
        : 90);
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const [part, words] of scaleY.ticks)
      this.text(context, visible(words), left - 8, TOP + (1 - part) * height, left - 28);
    context.fillStyle = text;
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    this.text(context, visible(x.name) + (scaleX.isLog ? ' (logarithmic)' : ''), left + width / 2, this.height - 2,
      width);
    context.save();
    context.rotate(-Math.PI / 2);
    context.textBaseline = 'top';
    this.text(context, visible(y.name) + (scaleY.isLog ? ' (logarithmic)' : ''), -TOP - height / 2, 0, height);
    context.restore();
  }

  // Leaves out some numbers along the axis if they would run into one another.
  ticksThatFit(context) {
    const {ticks} = this.wish.scaleX,
      widest = Math.max(0, ...ticks.map(([, words]) => context.measureText(words).width));
    const room = ticks.length > 1 ? (ticks[1][0] - ticks[0][0]) * this.room.width : Infinity,
      every = Math.ceil((widest + 10) / room);
    return ticks.filter((_, i) => i % every === 0);
  }

  drawPoints(context, code, isChosen) {
    const {states, has} = this.wish, mark = MARKS[NAMES[code]] ?? PLUS;
    let way = 'fill';
    context.beginPath();
    for (const {line, at} of this.points) {
      if (states[line.index] !== code || has(line.index) !== isChosen) continue;
      way = mark(context, at.x, at.y);
    }
    context.fillStyle = context.strokeStyle = isChosen ? this.colour(code) : this.palette.unchosen;
    context.lineWidth = 1.6;
    context[way]();
  }

  near() {
    if (!this.pointer || this.isBrushing || !this.points) return null;
    let best = null, least = NEAR;
    for (const point of this.points) {
      const far = Math.hypot(point.at.x - this.pointer.x, point.at.y - this.pointer.y);
      if (far < least) [best, least] = [point, far];
    }
    return best;
  }

  say() {
    const near = this.near(), {x, y, id, states} = this.wish;
    if (!near) return canChooseBy(x) || canChooseBy(y)
      ? 'Drag to choose; click a member to open it.' : 'Click a member to open it.';
    const code = states[near.line.index], words = field => {
      const value = field.value(near.line, code);
      return `${visible(field.name)} ${visible(field.inWords ? field.inWords(value) : String(value))}`;
    };
    return `${id}.${near.line.index}: ${NAMES[code]}, ${words(x)}, ${words(y)}`;
  }

  click() {
    const near = this.near();
    if (near) this.wish.actions.open(near.line.index);
  }

  brush(start, end) {
    const {x, y, scaleX, scaleY, filter, actions} = this.wish, {left, width, height} = this.room;
    const across = conditionOf(x, scaleX, (start.x - left) / width, (end.x - left) / width, filter);
    const up = conditionOf(y, scaleY, 1 - (start.y - TOP) / height, 1 - (end.y - TOP) / height, {...filter, ...across});
    if (across !== null || up !== null) actions.choose({...across, ...up});
  }
}
