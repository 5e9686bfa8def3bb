// The page of an explanation: what `rewrite explain --json` prints; explain.schema.json
// describes it.

// Steps in a row that only move elements: folded into one until they are opened.
const folds = [];
data.steps.forEach((s, k) => {
  const last = folds.at(-1), before = data.steps[k - 1];
  if (!s.moves || !before?.moves || before.part !== s.part || before.number + 1 !== s.number)
    return;
  if (last && last.at(-1) === k - 1) last.push(k); else folds.push([k - 1, k]);
});
const foldOf = k => folds.findIndex(f => f.includes(k));
const span = f => `${data.steps[f[0]].number + 1}–${data.steps[f.at(-1)].number + 1}`;

function unfold(i, open) {
  $(`#steps [data-fold="${i}"]`).setAttribute('aria-expanded', open);
  for (const k of folds[i]) $(`#steps [data-step="${k}"]`).hidden = !open;
}

// All steps of a fold at once.
function selectFold(i) {
  const f = folds[i], steps = f.map(k => data.steps[k]);
  $('#count').textContent = `steps ${span(f)} of ${data.steps.length}`;
  light(steps.flatMap(s => s.nodes_before.flat()), steps.flatMap(s => s.nodes_after.flat()),
    [steps.flatMap(s => s.nodes_before[0] ?? []), steps.flatMap(s => s.nodes_after[0] ?? [])]);
  mark($(`#steps [data-fold="${i}"]`));
  $('#detail').replaceChildren(
    make('h2', {}, `steps ${span(f)} `, make('span', { class: 'chip' }, 'bitwise')),
    make('p', {}, 'They change where elements stand, and compute nothing of them.'),
    make('ul', {}, ...f.map(k => make('li', {}, make('button',
      { class: 'link', onclick: () => select(k) },
      `${data.steps[k].number + 1} ${data.steps[k].rule}`)))));
}

function select(k) {
  mark(null);
  $('#count').textContent = k == null ? counted(data.steps.length, 'step')
    : `step ${k + 1} of ${data.steps.length}`;
  if (k == null) { light([], []); return $('#detail').replaceChildren(overview()); }
  const s = data.steps[k], rule = data.rules.find(r => r.name === s.rule);
  light(s.nodes_before.flat(), s.nodes_after.flat(),
    [s.nodes_before[0] ?? [], s.nodes_after[0] ?? []]);
  if (foldOf(k) >= 0) unfold(foldOf(k), true);
  mark($(`#steps [data-step="${k}"]`));
  const piece = data.pieces.find(p => p.number === s.part);
  $('#detail').replaceChildren(
    make('h2', {}, s.rule, ' ', make('span', { class: 'chip' }, s.equal),
      s.direction === 'backward' ? make('span', { class: 'chip' }, 'read backwards') : ''),
    make('p', {}, rule ? rule.sentence : ''),
    make('p', { class: 'label' }, 'takes'), term(s.before),
    make('p', { class: 'label' }, 'makes'), term(s.after),
    make('table', {},
      row('op by op', s.cost ? `${seconds(s.cost[0])} → ${seconds(s.cost[1])}` : '–'),
      row('where', `${s.file}:${s.line}`),
      row('piece', `${s.part}` + (piece && piece.uses > 1 ? `, used ${piece.uses} times` : '')),
      ...Object.entries(s.bindings).map(([k, v]) => row(k, term(v)))),
    whole(s.whole),
    make('pre', {}, rule ? rule.text : ''));
}

// A step with nothing cut short, and what the numbers in it stand for.
const terms = new Map(data.terms.map(t => [t.number, t]));
function whole(w) {
  const found = new Map(), todo = [...w.numbers].reverse();
  while (todo.length && found.size < LARGE) {
    const t = terms.get(todo.pop());
    if (found.has(t.number)) continue;
    found.set(t.number, t);
    todo.push(...[...t.args].reverse());
  }
  return make('details', {}, make('summary', { class: 'label' }, 'nothing cut short'),
    term(w.before), term('=> ' + w.after), make('table', {},
      ...Object.entries(w.bindings).map(([k, v]) => row(k, term(v))),
      ...[...found.values()].map(t => row(t.number, term(t.text))),
      todo.length ? row('…', 'more: rewrite explain --full') : ''));
}

function overview() {
  const found = make('div', {}, make('h2', {}, 'How to read this page'),
    make('p', {}, 'The steps, one after the other, turn the graph on the left into the one on ' +
      'the right; each has been checked. ← and → move through them. A click on a node or a ' +
      'kernel says what became of it and why; a click on a frame opens or closes it.'));
  if (data.only) found.append(make('p', {}, `Limited to ${data.only}.`));
  const table = make('table', {});
  for (const p of data.pieces)
    table.append(row(`piece ${p.number}`, `${p.uses > 1 ? p.uses + ' uses, ' : ''}` +
      `each op a kernel ${seconds(p.own_seconds)}, fused as written ` +
      `${seconds(p.unruled_seconds)}, chosen ${seconds(p.seconds)}`));
  for (const p of data.pieces)
    for (const x of p.limits)
      table.append(row(`limit, piece ${p.number}`, `${x}` +
        (p.held[x]?.length ? `: ${p.held[x].join(', ')} could not go on` : '')));
  if (!data.pieces.some(p => Object.keys(p.held).length))
    table.append(row('limits', 'saturated: the rules find no more forms'));
  for (const m of data.measured ?? [])
    table.append(row(`error of ${m.output}`, !m.compared
      ? `nothing could be compared, no value is finite (${m.inputs})`
      : `${error(m.error)}, as written ${error(m.own)} (${m.inputs})`));
  for (const p of data.pieces)
    for (const n of p.notes) table.append(row(`note, piece ${p.number}`, n));
  for (const n of data.notes) table.append(row('note', n));
  for (const x of data.ablation ?? [])
    if (x.rise > 1e-9) table.append(row(`without ${x.rule}`, seconds(x.seconds)));
  found.append(table);
  return found;
}

const more = s => s == null ? '–' : `${s >= data.seconds ? '+' : '−'}${seconds(Math.abs(s - data.seconds))}`;

const VERBS = { family: 'the family ', store: 'storing ', inline: 'computing again ' };
const way = o => (VERBS[o.kind] ?? '') + o.what;

function kernel(number) {
  const k = data.kernels.find(k => k.number === number);
  if (!k) return;
  const why = k.like == null ? k : data.kernels.find(o => o.number === k.like) ?? k;
  const inside = pane => [...pane.nodes.values()].filter(n => n.kernels.includes(number))
    .map(n => n.id);
  light(inside(panes.before), inside(panes.after));
  mark($(`#kernels [data-kernel="${number}"]`));
  const parts = why.parts ?? {}, best = why.runner_up;
  const held = make('table', {}, ...why.values.map(v => row(
    v.how === 'stored' ? 'stores' : 'inlines', term(v.text), ` ${v.type} `,
    make('span', { class: 'faint' }, v.otherwise == null ? v.reason
      : `${v.how === 'stored' ? 'inlined' : 'stored'} ${more(v.otherwise)}`))));
  $('#detail').replaceChildren(
    make('h2', {}, `kernel ${number} `, make('span', { class: 'chip' }, k.family),
      k.once ? make('span', { class: 'chip' }, 'runs once') : ''),
    make('p', {}, k.label),
    make('table', {}, row('predicted', seconds(k.seconds)),
      ...Object.entries(parts).filter(([, s]) => s).map(([w, s]) => row(w, seconds(s))),
      best ? row('runner-up', way(best), ' ', more(best.seconds)) : '',
      row('reads', k.reads.join(', ') || 'nothing')),
    make('p', { class: 'label' }, 'values, and what the whole would take were each held the other way'),
    held,
    make('p', { class: 'label' }, 'families and splits that were priced'),
    make('table', {}, ...why.others.filter(o => ['family', 'part'].includes(o.kind)).map(o =>
      row(o.what, o.seconds == null ? make('span', { class: 'faint' }, o.reason)
        : more(o.seconds)))));
}

function pick(pane, id) {
  const n = pane.nodes.get(id);
  const same = pane.after ? [n.same, [id]] : [[id], n.same];
  light(...same);
  const steps = data.steps.filter(s =>
    (pane.after ? s.nodes_after : s.nodes_before).some(use => use.includes(id)));
  $('#detail').replaceChildren(
    make('h2', {}, n.named ? n.text : n.op), term(n.text),
    make('table', {}, row('type', n.type), row('text', term(n.line)),
      n.scope.length ? row('scope', n.scope.join(' / ')) : '',
      row('kernels', ...(n.kernels.length ? n.kernels.map(k =>
        make('button', { class: 'link', onclick: () => kernel(k) }, `kernel ${k}`))
        : [pane.after ? 'none: it costs nothing' : 'no kernel computes it as such']))),
    make('p', { class: 'label' }, steps.length ? 'steps that touch it' : 'no step touches it'),
    make('ul', {}, ...steps.map(s => make('li', {}, make('button',
      { class: 'link', onclick: () => select(data.steps.indexOf(s)) },
      `${s.number + 1} ${s.rule}`)))));
}

// ---- what the page is made of ------------------------------------------------------------

function header() {
  const total = data.after.flatMap(n => n.kernels).reduce((a, k) => Math.max(a, k + 1), 0);
  const errors = (data.measured ?? []).filter(m => m.compared).map(m => m.error);
  const worst = errors.includes(null) ? null : Math.max(...errors);
  $('#title').textContent = data.model;
  $('#figures').append(
    figure('nodes', `${data.nodes[0]}`, `${data.nodes[1]}`),
    figure('kernels', `${data.own_kernels}`, `${total}`),
    figure(`predicted on ${data.device}`, seconds(data.own_seconds), seconds(data.seconds)),
    figure('equal', data.equal),
    figure('largest error', errors.length ? error(worst) : 'not measured'),
    figure('limits', data.limits.join(', ') || 'none reached'));
  const sizes = Object.entries(data.sizes).map(([k, v]) => `${k}=${v}`).join(', ');
  if (sizes) $('#figures').append(figure('at', sizes));
}

// What a step saves or adds, op by op.
function change(cost) {
  const by = cost ? cost[1] - cost[0] : 0;
  return !(Math.abs(by) >= 1e-9) ? '' : `${by < 0 ? '−' : '+'}${seconds(Math.abs(by))}`;
}

function lists() {
  let part = null;
  data.steps.forEach((s, k) => {
    if (s.part !== part && data.pieces.length > 1)
      $('#steps').append(make('li', { class: 'head' }, `piece ${s.part}`));
    part = s.part;
    const fold = foldOf(k);
    if (fold >= 0 && folds[fold][0] === k)
      $('#steps').append(make('li', { 'data-fold': fold, class: 'fold', onclick: e => {
        const open = e.currentTarget.getAttribute('aria-expanded') !== 'true';
        unfold(fold, open);
        if (open) select(k); else selectFold(fold);
      } }, make('span', { class: 'n' }, span(folds[fold])), 'only move elements',
      make('em', {}, change([data.steps[k].cost?.[0], data.steps[folds[fold].at(-1)].cost?.[1]]))));
    $('#steps').append(make('li', { 'data-step': k, onclick: () => select(k) },
      make('span', { class: 'n' }, s.number + 1), s.rule,
      change(s.cost) && make('em', {}, change(s.cost)) || ''));
  });
  for (const k of data.kernels)
    $('#kernels').append(make('li', { 'data-kernel': k.number, onclick: () => kernel(k.number) },
      make('span', { class: 'chip', style: `background:${colour(k.number)}` }, `k${k.number}`),
      make('span', { class: 'grow' }, k.label), make('em', {}, k.once ? 'once' : seconds(k.seconds))));
  folds.forEach((_, i) => unfold(i, false));
}

start();
