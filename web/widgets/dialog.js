// A question before what cannot be taken back: what will happen is said, and the safe answer has the focus.
import {h} from './dom.js';

// describe(choice): lines that say what will happen; null if nothing would. fields: the inputs, each with a name.
// Resolves with the inputs (FormData), or null.
export function ask({title, fields = [], describe, yes, no, danger = false}) {
  return new Promise(resolve => {
    const form = h('form', {
      class: 'stack',
      onsubmit: event => (event.preventDefault(), dialog.close('yes')),
      oninput: tell,
    });
    const told = h('div', {class: 'stack', 'aria-live': 'polite'}),
      doIt = h('button', {class: danger ? 'danger' : 'primary'}, yes);
    const dialog = h(
      'dialog',
      {
        'aria-labelledby': 'dialog-title',
        onclose: () => (dialog.remove(), resolve(dialog.returnValue === 'yes' ? new FormData(form) : null)),
      },
      h('h2', {id: 'dialog-title'}, title),
      form,
    );
    function tell() {
      const lines = describe(new FormData(form));
      told.replaceChildren(...(lines ?? ['Nothing is chosen.']).map(line => h('p', null, line)));
      doIt.disabled = lines === null;
    }
    form.append(
      ...fields,
      told,
      h(
        'div',
        {class: 'buttons'},
        h('button', {type: 'button', autofocus: true, onclick: () => dialog.close()}, no),
        doIt,
      ),
    );
    tell();
    document.body.append(dialog);
    dialog.showModal();
  });
}

export const confirm = async ({text, ...rest}) => (await ask({...rest, describe: () => text, danger: true})) !== null;
