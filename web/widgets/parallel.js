// Members as lines from axis to axis: one axis for each field. A brush along an axis chooses.
import {canChooseBy, conditionOf} from '../data/fields.js';
import {count} from '../data/format.js';
import {ORDER, Picture} from './picture.js';
import {hashOf} from '../data/sample.js';
import {visible} from '../data/text.js';

const SIDE = 40, STATES = 84, TOP = 40, BOTTOM = 26, NONE = 26, NEAR = 24;

export class Parallel extends Picture {
  constructor(element) {
    super(element, 'Members as lines through all of their parameters');
  }

  axisX(i) {
    const {fields} = this.wish;
    return SIDE + (i * (this.width - SIDE - STATES)) / (fields.length - 1);
  }

  // The length of an axis; below all of them is a place for members without a value, if there are any.
  get length() {
    return this.height - TOP - BOTTOM - (this.wish.lacking.some(n => n > 0) ? NONE : 0);
  }

  get none() {
    return this.height - NONE / 2;
  }

  y(part) {
    return TOP + (1 - part) * this.length;
  }

  part(y) {
    return 1 - (y - TOP) / this.length;
  }

  isNone(axis, y) {
    return this.wish.lacking[axis] > 0 && y > this.none - NONE / 2;
  }

  draw(context) {
    const {lines, states, has} = this.wish;
    for (const isChosen of [false, true]) {
      for (const code of ORDER) {
        const some = lines.filter(({index}) => states[index] === code && has(index) === isChosen);
        context.strokeStyle = isChosen ? this.colour(code) : this.palette.unchosen;
        context.globalAlpha = isChosen ? Math.max(0.12, Math.min(0.8, 60 / some.length)) : 0.35;
        context.lineWidth = 1;
        for (const line of some) this.drawLine(context, line);
      }
    }
    context.globalAlpha = 1;
    this.drawAxes(context);
    if (this.isBrushing)
      this.drawBrush(context, this.axisX(this.axis) - 9, this.start.y, 18, this.pointer.y - this.start.y);
  }

  // Returns where a member's line meets an axis.
  meets(line, i) {
    const {fields, scales, states} = this.wish, part = scales[i].at(fields[i].value(line, states[line.index]));
    if (part === null) return this.none;
    return this.y(part + (scales[i].isValues ? ((hashOf(line.index + i) / 2 ** 32 - 0.5) * 0.5) / scales[i].ticks.length
      : 0));
  }

  drawLine(context, line) {
    context.beginPath();
    this.wish.fields.forEach((_, i) => context[i > 0 ? 'lineTo' : 'moveTo'](this.axisX(i), this.meets(line, i)));
    context.stroke();
  }

  drawAxes(context) {
    const {fields, scales, filter} = this.wish, room = (this.width - SIDE - STATES) / (fields.length - 1) - 6;
    fields.forEach((field, i) => {
      const x = this.axisX(i), scale = scales[i], range = field.parameter !== undefined
        && filter.where[field.parameter];
      context.strokeStyle = this.palette.quiet;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, this.y(1));
      context.lineTo(x, this.y(0));
      context.stroke();
      context.textAlign = i === 0 ? 'left' : 'center';
      const at = i === 0 ? x - SIDE : x;
      context.textBaseline = 'bottom';
      context.fillStyle = this.palette.text;
      this.text(context, visible(field.name), at, this.y(1) - 20, room);
      context.fillStyle = this.palette.quiet;
      if (!scale.isValues) this.drawEnds(context, field, scale, at);
      else this.drawValues(context, scale, x);
      if (this.wish.lacking[i] > 0) this.drawNone(context, x);
      if (Array.isArray(range) && !scale.isValues) {
        const top = this.y(scale.at(Math.min(range[1] ?? scale.high, scale.high))),
          bottom = this.y(scale.at(Math.max(range[0] ?? scale.low, scale.low)));
        this.drawBrush(context, x - 9, top, 18, bottom - top);
      }
    });
  }

  drawEnds(context, field, scale, at) {
    context.textBaseline = 'bottom';
    context.fillText(field.inWords(scale.high), at, this.y(1) - 4);
    context.textBaseline = 'top';
    context.fillText(field.inWords(scale.low), at, this.y(0) + 4);
  }

  drawValues(context, scale, x) {
    if (scale.ticks.length > 16) return;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillStyle = this.palette.text;
    for (const [part, words] of scale.ticks) this.text(context, visible(words), x + 8, this.y(part), STATES - 10, true);
  }

  drawNone(context, x) {
    context.beginPath();
    context.moveTo(x - 5, this.none);
    context.lineTo(x + 5, this.none);
    context.stroke();
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillStyle = this.palette.quiet;
    this.text(context, 'none', x + 8, this.none, STATES - 10, true);
  }

  axisNear(x) {
    const {fields} = this.wish;
    let best = -1, least = NEAR;
    for (let i = 0; i < fields.length; i++) {
      const far = Math.abs(this.axisX(i) - x);
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  onDown(event) {
    this.axis = this.axisNear(this.place(event).x);
    if (this.axis >= 0 && canChooseBy(this.wish.fields[this.axis])) super.onDown(event);
  }

  say() {
    const i = this.pointer && !this.start ? this.axisNear(this.pointer.x) : -1;
    if (i < 0) return 'Drag along an axis to choose; click on it to let go.';
    const field = this.wish.fields[i], lacking = this.wish.lacking[i];
    if (this.isNone(i, this.pointer.y))
      return `${visible(field.name)}: none, ${count(lacking)} ${lacking === 1 ? 'member' : 'members'}`;
    const value = this.wish.scales[i].pick(this.part(this.pointer.y));
    const note = canChooseBy(field) ? '' : '; members are not chosen by what they reported';
    return `${visible(field.name)} ${visible(field.inWords ? field.inWords(value) : String(value))}${note}`;
  }

  // A brush is let go.
  click() {
    const {fields, filter, actions} = this.wish, {parameter, key} = fields[this.axis];
    const where = Object.fromEntries(Object.entries(filter.where).filter(([name]) => name !== parameter));
    actions.choose(key === 'state' ? {states: []} : {where});
  }

  brush(start, end) {
    const {fields, scales, filter, actions} = this.wish, i = this.axis;
    if (this.isNone(i, start.y) && this.isNone(i, end.y)) return;
    const condition = conditionOf(fields[i], scales[i], this.part(start.y), this.part(end.y), filter);
    if (condition !== null) actions.choose(condition);
  }
}
