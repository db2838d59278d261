// Members as lines from axis to axis: one axis for each field. A brush along an axis chooses.
import {visible} from './dom.js';
import {canChooseBy, conditionOf} from './fields.js';
import {Plot} from './plot.js';
import {scatter} from './sample.js';

const SIDE = 40, STATES = 84, TOP = 40, BOTTOM = 26, NEAR = 24;
const ORDER = [0, 6, 3, 1, 2, 5, 4];

export class Parallel extends Plot {
  constructor(element) {
    super(element, 'Members as lines through all of their parameters');
  }

  axisX(i) {
    const {fields} = this.wish;
    return SIDE + (i * (this.width - SIDE - STATES)) / (fields.length - 1);
  }

  y(part) {
    return TOP + (1 - part) * (this.height - TOP - BOTTOM);
  }

  part(y) {
    return 1 - (y - TOP) / (this.height - TOP - BOTTOM);
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
    if (this.isBrushing) this.drawBrush(context, this.axisX(this.axis) - 9, this.start.y, 18, this.pointer.y - this.start.y);
  }

  drawLine(context, line) {
    const {fields, scales, states} = this.wish;
    let isDown = false;
    context.beginPath();
    fields.forEach((field, i) => {
      const part = scales[i].at(field.value(line, states[line.index]));
      if (part === null) return (isDown = false);
      const spread = scales[i].isValues ? ((scatter(line.index + i) / 2 ** 32 - 0.5) * 0.5) / scales[i].ticks.length : 0;
      context[isDown ? 'lineTo' : 'moveTo'](this.axisX(i), this.y(part + spread));
      isDown = true;
    });
    context.stroke();
  }

  drawAxes(context) {
    const {fields, scales, filter} = this.wish, room = (this.width - SIDE - STATES) / (fields.length - 1) - 6;
    fields.forEach((field, i) => {
      const x = this.axisX(i), scale = scales[i], range = field.parameter !== undefined && filter.where[field.parameter];
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
      if (Array.isArray(range) && !scale.isValues) {
        const top = this.y(scale.at(Math.min(range[1] ?? scale.high, scale.high))), bottom = this.y(scale.at(Math.max(range[0] ?? scale.low, scale.low)));
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
    const field = this.wish.fields[i], value = this.wish.scales[i].pick(this.part(this.pointer.y));
    return `${visible(field.name)} ${visible(field.inWords ? field.inWords(value) : String(value))}${canChooseBy(field) ? '' : '; members are not chosen by what they reported'}`;
  }

  // A brush is let go.
  click() {
    const {fields, filter, actions} = this.wish, {parameter, key} = fields[this.axis];
    const where = Object.fromEntries(Object.entries(filter.where).filter(([name]) => name !== parameter));
    actions.choose(key === 'state' ? {states: []} : {where});
  }

  brush(start, end) {
    const {fields, scales, filter, actions} = this.wish, i = this.axis;
    const condition = conditionOf(fields[i], scales[i], this.part(start.y), this.part(end.y), filter);
    if (condition !== null) actions.choose(condition);
  }
}
