// The page for users without a session: it says how to get one.
import {h} from '../widgets/dom.js';
import * as api from '../data/api.js';

async function paste(event, done, failed) {
  event.preventDefault();
  const form = new FormData(event.target);
  try {
    await api.logInByToken(form.get('token').trim(), form.get('operator') ? 'operator' : 'reader');
    done();
  } catch (problem) {
    failed(problem.message);
  }
}

function tokenForm(done, failed) {
  return h('form', {class: 'stack', onsubmit: event => paste(event, done, failed)},
    h('label', {for: 'token'}, 'Token'),
    h('input', {id: 'token', name: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false',
      required: true}),
    h('label', {class: 'check'}, h('input', {type: 'checkbox', name: 'operator'}),
      ' Let me change things, not only look'),
    h('div', null, h('button', {class: 'primary'}, 'Log in')));
}

// why: a sentence, or null. done(): there is a session.
export function loginView(why, done, failed) {
  return h('section', {class: 'narrow'},
    h('h1', {tabindex: '-1'}, 'Log in'),
    why && h('p', {class: 'notice', role: 'alert'}, why),
    h('p', null, 'On the machine where strettod runs, ask for a link and open it here:'),
    h('pre', null, 'stretto dashboard'),
    h('p', {class: 'quiet'}, 'It works once. With ', h('code', null, '--operator'),
      ' the page may also pause, resume, cancel, resubmit, follow up and resize.'),
    h('details', null,
      h('summary', null, 'I have a token'),
      tokenForm(done, failed)));
}
