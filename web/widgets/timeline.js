// The attempts of a member along one axis of time: how long each was queued and ran, and how it ended. The table below
// says the same.
import {h, foreign, svg} from './dom.js';
import {duration} from '../data/format.js';
import {pill} from './state_signs.js';

const SHOWN = 20; // attempts, the latest

const LEAST = 0.4; // percent of the width, so that a short one is seen

const ms = time => (time === null ? null : Date.parse(time));

function part(state, from, to, begun, span) {
  const x = (100 * (from - begun)) / span,
    width = Math.max(LEAST, (100 * (to - from)) / span);
  return svg('rect', {
    class: `s-${state}`,
    x: `${Math.min(x, 100 - LEAST)}%`,
    width: `${width}%`,
    height: '100%',
  });
}

function line(attempt, begun, end) {
  const submitted = ms(attempt.submitted),
    started = ms(attempt.started),
    ended = ms(attempt.ended) ?? end,
    span = Math.max(1, end - begun);
  const ran = started !== null && `for ${duration((ended - started) / 1000)}`,
    words = [
      `queued for ${duration(((started ?? ended) - submitted) / 1000)}`,
      ran && `${attempt.ended === null ? 'running' : 'ran'} ${ran}`,
    ].filter(Boolean);
  return h(
    'li',
    {'data-key': attempt.number},
    h('span', {class: 'quiet'}, attempt.number),
    svg(
      'svg',
      {class: 'bar', role: 'img', 'aria-label': words.join(', ')},
      part('submitted', submitted, started ?? ended, begun, span),
      started !== null && part(attempt.outcome ?? 'running', started, ended, begun, span),
    ),
    h(
      'span',
      {class: 'how'},
      pill(attempt.outcome ?? attempt.state),
      h('span', {class: 'quiet'}, ' ', ran && attempt.ended === null ? ran : words.at(-1), attempt.host !== null
        && [' on ', foreign(attempt.host)]),
    ),
  );
}

export function timeline({attempts}) {
  const shown = attempts.slice(-SHOWN);
  if (shown.length === 0) return null;
  const begun = ms(shown[0].submitted),
    end = Math.max(...shown.map(({ended}) => ms(ended) ?? Date.now()));
  return h(
    'div',
    {class: 'timeline', 'data-key': 'timeline'},
    h(
      'ol',
      {class: 'plain', 'aria-label': 'Attempts over time'},
      shown.map(one => line(one, begun, end)),
    ),
    h(
      'p',
      {class: 'quiet', 'aria-hidden': 'true'},
      h('span', null, new Date(begun).toLocaleString()),
      h('span', null, `${duration((end - begun) / 1000)} later`),
    ),
  );
}
