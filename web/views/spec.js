// The spec of an ensemble as it is stored, to be read and to be taken along.
import {h} from '../widgets/dom.js';
import * as api from '../data/api.js';
import {UNSEEN} from '../data/text.js';

// Characters that are not seen are escaped, so that the text stays what it is.
function textOf(spec) {
  return JSON.stringify(spec, null, 2).replace(
    UNSEEN,
    character => `\\u${character.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}

// Also if the page comes over plain HTTP, which navigator.clipboard is not for.
function copy() {
  getSelection().selectAllChildren(document.getElementById('spec'));
  return document.execCommand('copy')
    ? 'The spec is in the clipboard.'
    : 'The spec is selected: copy it by the keyboard.';
}

export function specView(id, act) {
  return {
    title: `Spec of ensemble ${id}`,
    events: `v1/events?ensemble=${id}`,
    every: 600000, // it does not change
    load: () => api.get(`v1/ensembles/${id}/spec`),
    render: spec => [
      h(
        'nav',
        {class: 'crumbs', 'aria-label': 'Where this is'},
        h('a', {href: '#/'}, 'Ensembles'),
        ' / ',
        h('a', {href: `#/ensembles/${id}`}, `#${id}`),
        ' / ',
      ),
      h(
        'div',
        {class: 'head'},
        h('h1', {tabindex: '-1'}, `Spec of ensemble ${id}`),
        h(
          'div',
          {class: 'controls'},
          h('button', {'data-key': 'copy', onclick: () => act(copy)}, 'Copy'),
          h('a', {href: api.url(`v1/ensembles/${id}/spec`), target: '_blank', rel: 'noopener'}, 'as a file'),
        ),
      ),
      h('pre', {id: 'spec', class: 'spec', tabindex: '0', dir: 'ltr'}, textOf(spec)),
    ],
  };
}
