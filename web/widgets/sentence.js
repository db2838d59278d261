// A sentence of the daemon, which gives times as the API does. Here they are shown by the reader's clock, with how long
// ago they were.
import {h} from './dom.js';
import {age, clock, day, until} from '../data/format.js';
import {visible} from '../data/text.js';

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

const isFuture = time => Date.parse(time) > Date.now();

function moment(time) {
  const isToday = day(time) === day(new Date());
  return h('time', {datetime: time},
    `${isToday ? '' : `${day(time)} `}${clock(time)} (${isFuture(time) ? until(time) : age(time)})`);
}

export function sentence(text) {
  return h('bdi', null, visible(text).split(TIME).map((part, i) => (i % 2 === 0 ? part : moment(part))));
}
