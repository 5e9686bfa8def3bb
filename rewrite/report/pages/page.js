// What pages have in common: two panes, lists at the side, keys.  The script of a page
// has `header`, `lists`, `select`, `selectFold` and `pick`, and starts it.

const panes = {};

function row(word, ...values) {
  return make('tr', {}, make('th', {}, word), make('td', {}, ...values));
}

function term(...parts) { return make('code', { class: 'term' }, ...parts); }

function light(before, after, first = [before, after]) {
  panes.before.reveal(first[0]);
  panes.after.reveal(first[1]);
  panes.before.light(before);
  panes.after.light(after);
  panes.before.show(first[0]);
  panes.after.show(first[1]);
}

function mark(e) {
  for (const old of document.querySelectorAll('.list .now')) old.classList.remove('now');
  e?.classList.add('now');
  e?.scrollIntoView({ block: 'nearest' });
}

function figure(name, ...values) {
  const box = make('div', { class: 'figure' }, make('b', {}, name));
  values.forEach((v, i) => box.append(i ? make('i', {}, '→') : '',
    make(i === values.length - 1 ? 'strong' : 'span', {}, v)));
  return box;
}

function tabs() {
  for (const tab of document.querySelectorAll('[data-tab]'))
    tab.onclick = () => {
      for (const t of document.querySelectorAll('[data-tab]')) {
        t.setAttribute('aria-selected', t === tab);
        $('#' + t.dataset.tab).hidden = t !== tab;
      }
    };
}

function move(by) {
  const stops = [...document.querySelectorAll('#steps li:not(.head, [hidden], [aria-expanded=true])')];
  if (!stops.length) return;
  const at = stops.indexOf($('#steps .now'));
  const to = stops[at < 0 ? (by > 0 ? 0 : stops.length - 1)
    : Math.min(stops.length - 1, Math.max(0, at + by))];
  if (to.dataset.step !== undefined) select(+to.dataset.step); else selectFold(+to.dataset.fold);
}

function start() {
  header();
  lists();
  tabs();
  for (const side of ['before', 'after']) {
    const pane = panes[side] = new Pane($(`#${side} .pane`), data[side], side === 'after');
    const choice = $(`#${side} select`);
    for (const mode of pane.modes()) choice.append(make('option', { value: mode }, `by ${mode}`));
    choice.onchange = () => { pane.group(choice.value); pane.fit(); };
    $(`#${side} .open`).onclick = () => pane.all(true);
    $(`#${side} .close`).onclick = () => pane.all(false);
    $(`#${side} .fit`).onclick = () => pane.fit();
    pane.fit();
  }
  $('#next').onclick = () => move(1);
  $('#previous').onclick = () => move(-1);
  document.onkeydown = e => {
    if (['SELECT', 'INPUT'].includes(e.target.tagName) || e.ctrlKey || e.metaKey) return;
    const by = { ArrowRight: 1, ArrowDown: 1, j: 1, ArrowLeft: -1, ArrowUp: -1, k: -1 }[e.key];
    if (by) { e.preventDefault(); move(by); }
    if (e.key === 'Escape') select(null);
  };
  select(null);
}
