// The page: logs in, finds the view that the address names, and keeps it up to date.
import {h, morph, updateIslands} from './widgets/dom.js';
import * as api from './data/api.js';
import {Live} from './data/live.js';
import {clock} from './data/format.js';
import {loginView} from './views/login.js';
import {overview} from './views/overview.js';
import {ensembleView} from './views/ensemble.js';
import {memberView} from './views/member.js';
import {specView} from './views/spec.js';
import {trainingView} from './views/training.js';

const main = document.getElementById('main'), liveSign = document.getElementById('live'),
  who = document.getElementById('who');
const live = new Live(look, showLive);
let view = null, session = null, told = null;
let opening = null; // the view, until what it shows is there

const ROUTES = [
  [/^\/ensembles\/(\d+)\/members\/(\d+)$/, ([id, index], parameters) => memberView(id, index, parameters)],
  [/^\/ensembles\/(\d+)\/training$/,
    ([id], parameters) => trainingView(id, parameters, {isOperator: session.role === 'operator', act})],
  [/^\/ensembles\/(\d+)\/spec$/, ([id]) => specView(id, act)],
  [/^\/ensembles\/(\d+)$/,
    ([id], parameters) => ensembleView(id, parameters, {isOperator: session.role === 'operator', act, redraw})],
  [/^\/?$/, (_, parameters) => overview(parameters)],
];

function route() {
  const [path, query] = location.hash.slice(1).split('?');
  for (const [pattern, make] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return make(found.slice(1), new URLSearchParams(query));
  }
  return null;
}

// The focused element keeps the focus, also if it moves to another place of the page.
function show(...content) {
  const focused = document.activeElement;
  morph(main, h('main', {id: 'main', tabindex: '-1', 'aria-busy': view !== null && view === opening && 'true'},
    content));
  if (focused !== document.activeElement && main.contains(focused)) focused.focus({preventScroll: true});
  updateIslands(main);
}

function showLive(since) {
  const text = since === null ? 'Live' : `Stale since ${clock(since)}`;
  morph(liveSign, h('span', {id: 'live', role: 'status', class: since === null ? 'is-live' : 'is-stale'},
    h('span', {'aria-hidden': 'true'}, since === null ? '● ' : '▲ '), text));
}

function showWho() {
  morph(who, h('span', {id: 'who'},
    session && [h('span', {class: 'role'}, session.role), ' ',
      h('button', {class: 'plain', onclick: logOut}, 'Log out')]));
}

const isLost = problem => problem.code === 'session_missing' || (problem.status === 429 && session === null);

function askToLogIn(why) {
  live.stop();
  session = view = null;
  showWho();
  liveSign.replaceChildren();
  document.title = 'stretto: log in';
  show(loginView(why, start, askToLogIn));
}

function lose() {
  if (api.isOutdated()) return location.reload();
  api.forget();
  askToLogIn('The session has ended.');
}

async function logOut() {
  live.stop();
  view = null;
  await api.logOut().catch(() => {});
  askToLogIn('You are logged out.');
}

function showProblem(problem) {
  show(h('div', {class: 'empty'}, h('h1', {tabindex: '-1'}, problem.status === 404 ? 'Not here' : 'That did not work'),
    h('p', null, problem.message), h('p', null, h('a', {href: '#/'}, 'All ensembles'))));
}

function redraw() {
  if (view?.data !== undefined)
    show(told && h('p', {class: 'notice', role: told.role, 'data-key': 'told'}, told.text), view.render(view.data));
}

// Asks again for the content of the view. Shows a refusal; throws if nobody answers.
async function look() {
  const asked = view;
  try {
    asked.data = await asked.load();
    if (asked === view) redraw();
  } catch (problem) {
    if (asked !== view) return;
    if (!(problem instanceof api.Problem) || problem.status >= 500) throw problem;
    if (isLost(problem)) lose();
    else showProblem(problem);
  }
}

// action(): may return a sentence, which is shown until the next action or view.
async function act(action) {
  const asked = view;
  told = null;
  try {
    const sentence = await action();
    if (typeof sentence === 'string' && asked === view) told = {role: 'status', text: sentence};
  } catch (problem) {
    if (isLost(problem)) return lose();
    if (asked === view) told = {role: 'alert', text: `That was not done: ${problem.message}`};
  }
  live.soon(0);
}

async function open() {
  live.stop();
  told = null;
  const last = view;
  view = route();
  if (view === null) return showProblem({status: 404, message: 'The address names nothing that there is.'});
  const opened = (opening = view), former = document.title;
  document.title = `${view.title} – stretto`;
  main.setAttribute('aria-busy', 'true');
  const isNew = last === null || opened.key === undefined || opened.key !== last.key;
  if (!isNew) { // the page answers at once, and takes what is new when it comes
    view.data = last.data;
    redraw();
  }
  const slow = setTimeout(() => isNew && opened === view && show(h('p', {class: 'empty', role: 'status'}, 'Loading…')),
    300);
  await live.follow(() => api.events(opened.events), opened.every);
  clearTimeout(slow);
  if (opened !== view) return;
  opening = null;
  main.removeAttribute('aria-busy');
  if (document.title !== former) main.querySelector('h1')?.focus({preventScroll: true});
}

// The one-time token is out of the address before anything else happens.
function takeLogin() {
  const found = /^#login=([\w-]+)$/.exec(location.hash);
  if (found) history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  return found?.[1];
}

async function start() {
  try {
    session = await api.get('v1/sessions/current');
  } catch (problem) {
    if (isLost(problem)) return lose();
    return askToLogIn(problem.message);
  }
  showWho();
  await open();
}

async function begin() {
  const login = takeLogin();
  try {
    if (login) await api.logInByLink(login);
  } catch (problem) {
    if (!api.hasSession()) return askToLogIn(problem.message);
  }
  if (api.hasSession()) await start();
  else askToLogIn(null);
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => updateIslands(main));
addEventListener('hashchange', () => (location.hash.startsWith('#login=') ? begin() : session && open()));
begin();
