// Elements, and how a page becomes another one. Text is only ever put in as text.
import {visible} from '../data/text.js';

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) listen(element, name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

// h('p', {class: 'x', onclick: f}, 'text', h('b', null, 'more')); what is null or false is left out.
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// One listener for each kind of event, whose function can be changed.
function listen(element, kind, action) {
  element.actions ??= {};
  if (!(kind in element.actions)) element.addEventListener(kind, event => element.actions[kind]?.(event));
  element.actions[kind] = action;
}

const KEPT = new Set(['open', 'value']); // that the user has changed

// The focused input keeps its value; a value that was changed elsewhere is copied.
function takeValue(from, to) {
  if (from.nodeName === 'OPTION' && from.defaultSelected !== to.defaultSelected) from.selected = to.selected;
  if (from.type === 'checkbox') from.checked = to.checked;
  if (from.nodeName === 'INPUT' && from !== document.activeElement
    && from.getAttribute('value') !== to.getAttribute('value')) from.value = to.value;
}

function takeAttributes(from, to) {
  takeValue(from, to);
  for (const {name} of [...from.attributes]) if (!to.hasAttribute(name) && !KEPT.has(name)) from.removeAttribute(name);
  for (const {name, value} of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  for (const kind of Object.keys(from.actions ?? {})) from.actions[kind] = null;
  for (const [kind, action] of Object.entries(to.actions ?? {})) listen(from, kind, action);
}

const keyOf = node => node.dataset?.key;

function fits(from, to) {
  return from?.nodeName === to.nodeName && keyOf(from) === keyOf(to);
}

// If `from` has a child with this key further on, it is moved here.
function find(parent, at, to) {
  const key = keyOf(to);
  if (key === undefined) return fits(at, to) ? at : null;
  for (let node = at; node !== null; node = node.nextSibling) if (fits(node, to)) return node;
  return null;
}

// Removes elements that are not wanted, so that the elements behind them are neither moved nor made again.
function dropUnwanted(at, keys) {
  while (at !== null && keyOf(at) !== undefined && !keys.has(keyOf(at))) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  return at;
}

// A browser of before 2025 has no moveBefore(): there an element that is moved loses the focus and a key or button that
// is held.
function move(parent, child, before) {
  if (parent.moveBefore) parent.moveBefore(child, before);
  else parent.insertBefore(child, before);
}

function takeChildren(from, to) {
  const keys = new Set([...to.childNodes].map(keyOf));
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    at = dropUnwanted(at, keys);
    const found = find(from, at, wanted);
    if (found === null) {
      from.insertBefore(wanted, at);
      continue;
    }
    if (found !== at) move(from, found, at);
    else at = at.nextSibling;
    morph(found, wanted);
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// An element that draws itself: update(element) is called whenever the page has been made to look like another one. Its
// content stays.
export function island(tag, properties, update) {
  const element = h(tag, {...properties, 'data-island': ''});
  element.update = update;
  return element;
}

export function updateIslands(page) {
  for (const element of page.querySelectorAll('[data-island]')) element.update(element);
}

// Make `from` look like `to`, and keep what is the same: focus, selection and scroll positions stay where they are.
export function morph(from, to) {
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  if (to.update) from.update = to.update;
  else {
    takeAttributes(from, to);
    takeChildren(from, to);
  }
}

// Text that comes from elsewhere: it stays in its place, even if it is written in another direction.
export function foreign(text) {
  return h('bdi', null, visible(text));
}
