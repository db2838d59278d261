// A form that chooses members by typed words: a range, a parameter, a host. It does the same as a brush, from the
// keyboard.
import {h} from '../widgets/dom.js';
import {addressOf} from '../data/member_filter.js';
import {visible} from '../data/text.js';

const typed = (form, name) => (form.get(name) ?? '').trim();

const end = text => (text === '' ? null : Number(text));

// Returns the changes that the form makes to a filter; other parts of the filter stay.
function changesOf(form, field, filter) {
  const changes = {}, [from, to, low, high, host] = ['from', 'to', 'low', 'high', 'host'].map(
    name => typed(form, name));
  if (from !== '' || to !== '') Object.assign(changes, {from: end(from), to: end(to)});
  if (host !== '') changes.host = host;
  if (field?.values && form.get('value'))
    changes.where = {...filter.where, [field.parameter]: field.asked(field.values[Number(form.get('value'))])};
  else if (low !== '' || high !== '') changes.where = {...filter.where, [field.parameter]: [end(low), end(high)]};
  return changes;
}

const box = (name, words, more) => h('input', {name, 'aria-label': words, placeholder: words, ...more});

const numeric = {type: 'number', step: 'any'}, index = {type: 'number', min: '0', step: '1'};

function valuesOf(field) {
  if (!field.values) return [box('low', 'at least', numeric), box('high', 'at most', numeric)];
  return h('select', {name: 'value', 'aria-label': 'value'}, h('option', {value: ''}, 'any'),
    field.values.map((value, i) => h('option', {value: i}, visible(value))));
}

// fields: the parameters that members have, as fields.js gives them.
export function choosingForm(id, kept, fields, filter, parameters, redraw) {
  const field = fields.find(({parameter}) => parameter === kept.parameter) ?? fields[0];
  const submit = event => {
    event.preventDefault();
    const changes = changesOf(new FormData(event.target), field, filter);
    event.target.reset();
    location.hash = addressOf(id, parameters, changes);
  };
  return h('details', {'data-key': 'choosing'}, h('summary', null, 'Choose by values'),
    h('form', {class: 'choosing tools', onsubmit: submit},
      h('fieldset', null, h('legend', null, 'Members'), box('from', 'from index', index), box('to', 'to index', index)),
      field && h('fieldset', {'data-key': `of ${field.key}`}, h('legend', null, 'Parameter'),
        h('select', {name: 'parameter', 'aria-label': 'parameter',
          onchange: event => ((kept.parameter = fields[event.target.selectedIndex].parameter), redraw())},
          fields.map(one => h('option', {selected: one === field}, visible(one.name)))),
        valuesOf(field)),
      h('fieldset', null, h('legend', null, 'Host of the latest attempt'), box('host', 'host', {autocomplete: 'off'})),
      h('button', null, 'Choose')));
}
