// The page of an optimized model: its operators before and after, change by change.
// `data` is what models.py makes.

const WORDS = { kept: 'kept as it was', changed: 'other inputs or attributes',
  gone: 'only in the model before', new: 'only in the model after', '': 'a value' };
const chip = (state, text) => make('span', { class: `chip ${state}` }, text);

function select(k) {
  mark(null);
  $('#count').textContent = k == null ? counted(data.changes.length, 'change')
    : `change ${k + 1} of ${data.changes.length}`;
  if (k == null) { light([], []); return $('#detail').replaceChildren(overview()); }
  const c = data.changes[k];
  light(c.before, c.after);
  mark($(`#steps [data-step="${k}"]`));
  const nodes = (pane, ids) => ids.length ? make('ul', {}, ...ids.map(i => {
    const n = pane.nodes.get(i);
    return make('li', {}, chip(n.state, n.state), ' ', make('button',
      { class: 'link', onclick: () => pick(pane, i) }, `${n.op} ${n.text}`));
  })) : make('p', {}, 'nothing');
  $('#detail').replaceChildren(make('h2', {}, `change ${k + 1}`),
    make('p', { class: 'label' }, 'takes'), nodes(panes.before, c.before),
    make('p', { class: 'label' }, 'makes'), nodes(panes.after, c.after));
}

function overview() {
  const found = make('div', {}, make('h2', {}, 'How to read this page'),
    make('p', {}, 'Operators of the model before are on the left, those after on the right. ' +
      '← and → move through the changes and light what each takes and makes. A click on an ' +
      'operator says what it is; a click on a frame opens or closes it.'));
  const table = make('table', {});
  for (const state of ['gone', 'changed', 'new', 'kept'])
    table.append(row(chip(state, state), `${data.states[state]}, ${WORDS[state]}`));
  for (const n of data.notes) table.append(row('note', n));
  found.append(table);
  return found;
}

function operator(k) {
  const [kind] = data.operators[k];
  const of = pane => [...pane.nodes.values()].filter(n => n.kind === kind).map(n => n.id);
  light(of(panes.before), of(panes.after), [[], []]);
  mark($(`#operators [data-operator="${k}"]`));
}

function rule(k) {
  const r = data.rules[k];
  mark($(`#rules [data-rule="${k}"]`));
  $('#detail').replaceChildren(make('h2', {}, r.name, ' ', chip('', r.equal)),
    make('p', {}, r.sentence),
    make('table', {}, row('where', `${r.file}:${r.line}`), row('matched', counted(r.uses, 'time'))),
    make('p', { class: 'faint' }, 'It matched while equal forms were searched for. That does ' +
      'not say that the result uses it: this is no proof.'),
    make('pre', {}, r.text));
}

function pick(pane, id) {
  const n = pane.nodes.get(id);
  light(...(pane.after ? [n.same, [id]] : [[id], n.same]));
  const k = data.changes.findIndex(c => (pane.after ? c.after : c.before).includes(id));
  $('#detail').replaceChildren(make('h2', {}, n.op, ' ', chip(n.state, WORDS[n.state])),
    term(n.text), make('table', {}, row('type', n.type),
      ...n.line.split('\n').map(t => row('', term(t))),
      n.scope.length ? row('scope', n.scope.join(' / ')) : ''),
    k < 0 ? '' : make('button', { class: 'link', onclick: () => select(k) }, `change ${k + 1}`));
}

function header() {
  $('#title').textContent = data.model;
  for (const [name, ...values] of data.figures) $('#figures').append(figure(name, ...values));
}

function lists() {
  data.changes.forEach((c, k) => $('#steps').append(make('li',
    { 'data-step': k, onclick: () => select(k) }, make('span', { class: 'n' }, k + 1),
    make('span', { class: 'grow' }, c.text))));
  data.operators.forEach(([kind, before, after], k) => $('#operators').append(make('li',
    { 'data-operator': k, onclick: () => operator(k) }, kind,
    make('em', {}, before === after ? `${after}` : `${before} → ${after}`))));
  data.rules.forEach((r, k) => $('#rules').append(make('li',
    { 'data-rule': k, onclick: () => rule(k) }, make('span', { class: 'grow' }, r.name),
    make('em', {}, `${r.uses}`))));
}

start();
