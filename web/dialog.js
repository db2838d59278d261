// A question before what cannot be taken back: what will happen is said, and the safe answer has the focus.
import {h} from './dom.js';

export function confirm({title, text, yes, no}) {
  return new Promise(resolve => {
    const close = () => dialog.close();
    const dialog = h('dialog', {'aria-labelledby': 'dialog-title', onclose: () => (dialog.remove(), resolve(dialog.returnValue === 'yes'))},
      h('h2', {id: 'dialog-title'}, title),
      text.map(line => h('p', null, line)),
      h('div', {class: 'buttons'},
        h('button', {autofocus: true, onclick: close}, no),
        h('button', {class: 'danger', onclick: () => dialog.close('yes')}, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
