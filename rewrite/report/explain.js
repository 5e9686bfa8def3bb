'use strict';
// The page of an explanation.  Two panes show the graph before and after as nested
// boxes: a group is one box until it is opened, and each level is laid out on its own
// (layers by longest paths, order by barycentres; Sugiyama, Tagawa, Toda 1981).
// `data` is what `rewrite explain --json` prints; explain.schema.json describes it.

const data = JSON.parse(document.getElementById('data').textContent);
const LARGE = 160;         // boxes that are shown at first
const CHAR = 6.7, LINE = 15, PAD = 9, GAP_X = 16, GAP_Y = 26, LONGEST = 30;
const $ = (selector, root = document) => root.querySelector(selector);
const seconds = s => s == null ? '–' : s >= 1 ? `${+s.toPrecision(3)} s`
  : s >= 1e-3 ? `${+(s * 1e3).toPrecision(3)} ms` : `${+(s * 1e6).toPrecision(3)} µs`;
const error = e => e == null ? 'infinite' : e.toExponential(1);
const colour = k => `hsl(${(205 + k * 137.508) % 360} var(--tint))`;
const short = t => t.length <= LONGEST ? t : t.slice(0, LONGEST - 1) + '…';

// Text from models is only ever set as text, never as markup.
function make(name, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'rect', 'text', 'path', 'title'].includes(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  for (const [k, v] of Object.entries(attributes))
    if (k.startsWith('on')) e[k] = v; else if (v !== '' && v != null) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// ---- layout of one level -----------------------------------------------------------

// Items have w and h, edges are pairs of item numbers; x and y are set to centres.
function layered(items, edges) {
  const n = items.length;
  const forward = edges.map(([a, b]) => a < b ? [a, b] : [b, a]);
  const ins = items.map(() => []), outs = items.map(() => []);
  for (const [a, b] of forward) { ins[b].push(a); outs[a].push(b); }
  const rank = new Array(n).fill(0);
  for (let v = 0; v < n; v++) for (const u of ins[v]) rank[v] = Math.max(rank[v], rank[u] + 1);
  for (let v = n - 1; v >= 0; v--)  // what only feeds others stands beside its use
    if (!ins[v].length && outs[v].length) rank[v] = Math.min(...outs[v].map(w => rank[w])) - 1;
  const low = Math.min(0, ...rank);
  const boxes = items.map((item, i) => ({ w: item.w, rank: rank[i] - low, up: [], down: [] }));
  const chains = forward.map(([a, b]) => {
    const chain = [a];
    for (let r = boxes[a].rank + 1; r < boxes[b].rank; r++)
      chain.push(boxes.push({ w: 4, rank: r, up: [], down: [], bend: true }) - 1);
    chain.push(b);
    for (let k = 1; k < chain.length; k++) {
      boxes[chain[k - 1]].down.push(chain[k]);
      boxes[chain[k]].up.push(chain[k - 1]);
    }
    return chain;
  });
  const rows = [];
  boxes.forEach((b, i) => (rows[b.rank] ??= []).push(i));
  for (let r = 0; r < rows.length; r++) rows[r] ??= [];
  const at = new Array(boxes.length).fill(0);
  for (const row of rows) row.forEach((i, p) => { at[i] = p; });
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 ? 'down' : 'up';
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const key = new Map(row.map(i => [i, boxes[i][near].length
        ? boxes[i][near].reduce((s, j) => s + at[j], 0) / boxes[i][near].length : at[i]]));
      row.sort((i, j) => key.get(i) - key.get(j));
      row.forEach((i, p) => { at[i] = p; });
    }
  }
  const x = place(boxes, rows);
  return finish(items, boxes, rows, chains, x);
}

// Centres near the means of the neighbours with the gaps kept (pool adjacent violators).
function place(boxes, rows) {
  const x = new Array(boxes.length).fill(0);
  for (const row of rows) separate(row, boxes, x, i => 0);
  for (let sweep = 0; sweep < 9; sweep++) {
    const near = sweep % 2 ? 'down' : 'up';
    for (const row of sweep % 2 ? [...rows].reverse() : rows)
      separate(row, boxes, x, i => boxes[i][near].length
        ? boxes[i][near].reduce((s, j) => s + x[j], 0) / boxes[i][near].length : x[i]);
  }
  return x;
}

function separate(row, boxes, x, wanted) {
  const offset = [0], blocks = [];
  for (let k = 1; k < row.length; k++)
    offset.push(offset[k - 1] + (boxes[row[k - 1]].w + boxes[row[k]].w) / 2 + GAP_X);
  row.forEach((i, k) => {
    let block = { mean: wanted(i) - offset[k], mass: boxes[i].bend ? 4 : 1, count: 1 };
    while (blocks.length && blocks.at(-1).mean > block.mean) {
      const b = blocks.pop(), mass = b.mass + block.mass;
      block = { mean: (b.mean * b.mass + block.mean * block.mass) / mass, mass,
        count: b.count + block.count };
    }
    blocks.push(block);
  });
  let k = 0;
  for (const b of blocks)
    for (let end = k + b.count; k < end; k++) x[row[k]] = b.mean + offset[k];
}

function finish(items, boxes, rows, chains, x) {
  let top = 0, left = Infinity, right = -Infinity;
  const y = rows.map(row => {
    const tall = Math.max(0, ...row.filter(i => i < items.length).map(i => items[i].h));
    const middle = top + tall / 2;
    top += tall + GAP_Y;
    return middle;
  });
  boxes.forEach((b, i) => { left = Math.min(left, x[i] - b.w / 2);
    right = Math.max(right, x[i] + b.w / 2); });
  items.forEach((item, i) => { item.x = x[i] - left; item.y = y[boxes[i].rank]; });
  const routes = chains.map(chain => chain.map((i, k) => {
    const end = k === 0 ? 1 : k === chain.length - 1 ? -1 : 0;
    return [x[i] - left, y[boxes[i].rank] + (end ? end * items[i].h / 2 : 0)];
  }));
  return { routes, width: Math.max(0, right - left), height: Math.max(0, top - GAP_Y) };
}

function curve(route) {
  let [x, y] = route[0], d = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  for (const [x2, y2] of route.slice(1)) {
    const bend = (y2 - y) / 2;
    d += `C${x.toFixed(1)} ${(y + bend).toFixed(1)} ${x2.toFixed(1)} ` +
      `${(y2 - bend).toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`;
    [x, y] = [x2, y2];
  }
  return d;
}

// ---- a pane: one graph as nested boxes -----------------------------------------------

// A kernel's frame also says what it is and takes.
function called(group) {
  const found = /^kernel (\d+)$/.exec(group.name);
  const k = found && data.kernels.find(k => k.number === +found[1]);
  return k ? `${group.name} · ${k.family} · ${k.once ? 'once' : seconds(k.seconds)}` : group.name;
}

const VIEWS = new Set(['reshape', 'expand', 'permute', 'slice', 'pad', 'window', 'concat']);

class Pane {
  constructor(root, nodes, after) {
    this.after = after;
    this.nodes = new Map(nodes.map(n => [n.id, n]));
    this.folded = new Set();  // numbers, which their users show
    for (const n of nodes)
      if (n.kind === 'const' || (['reshape', 'expand', 'permute'].includes(n.kind) &&
          this.folded.has(n.args[0]))) this.folded.add(n.id);
    for (const n of nodes) if (n.outputs.length) this.folded.delete(n.id);
    this.shown = nodes.filter(n => !this.folded.has(n.id));
    this.users = new Map();
    for (const n of this.shown) for (const a of n.args)
      if (!this.users.has(a)) this.users.set(a, [n.id]); else this.users.get(a).push(n.id);
    this.pane = root;
    this.open = new Set();
    this.lit = new Set();
    this.zoom = 1;
    this.svg = make('svg', { class: 'rw', role: 'img',
      'aria-label': `The graph ${after ? 'after' : 'before'}` });
    root.append(this.svg);
    this.listen();
    this.group(this.best());
  }

  modes() {
    const tops = new Set(this.shown.map(n => n.scope[0] ?? ''));
    const found = [];
    if (this.after) found.push('kernels');
    if (tops.size > 1 || this.shown.some(n => n.scope.length > 1)) found.push('names');
    if (data.pieces.some(p => p.uses > 1)) found.push('layers');
    return [...found, 'nothing'];
  }

  best() { return this.modes()[0]; }

  path(n) {
    const piece = data.pieces.find(p => p.number === n.part);
    const layer = piece && piece.uses > 1
      ? [`piece ${piece.number}, use ${n.copy + 1} of ${piece.uses}`] : [];
    const kernel = n.kernels.length ? [`kernel ${n.kernels[0]}`] : [];
    switch (this.mode) {
      case 'names': return n.scope;
      case 'layers': return layer;
      case 'kernels': return [...layer, ...kernel];
      default: return [];
    }
  }

  // The groups around each node; an input or constant is with those that read it.
  paths() {
    const found = new Map(this.shown.map(n => [n.id, this.path(n)]));
    for (const n of [...this.shown].reverse()) {
      if (n.args.length || found.get(n.id).length || n.outputs.length) continue;
      const readers = (this.users.get(n.id) ?? []).map(i => found.get(i));
      if (!readers.length) continue;
      let k = 0;
      while (readers.every(p => p.length > k && p[k] === readers[0][k])) k++;
      found.set(n.id, readers[0].slice(0, k));
    }
    return found;
  }

  // The tree of groups; a group that holds all there is, or a single thing, is none.
  group(mode) {
    this.mode = mode;
    const root = { key: '', name: '', parts: new Map(), nodes: [], count: 0, first: -1 };
    this.home = new Map();
    const paths = this.paths();
    for (const n of this.shown) {
      let at = root, key = '';
      for (const word of paths.get(n.id)) {
        key += '/' + word;
        if (!at.parts.has(key))
          at.parts.set(key, { key, name: word, parts: new Map(), nodes: [], up: at });
        at = at.parts.get(key);
      }
      at.nodes.push(n);
    }
    this.root = this.tidy(root);
    this.groups = new Map();
    const walk = (g, up) => {
      g.up = up;
      this.groups.set(g.key, g);
      for (const n of g.nodes) this.home.set(n.id, g);
      for (const p of g.parts.values()) walk(p, g);
      g.count = g.nodes.length + [...g.parts.values()].reduce((s, p) => s + p.count, 0);
      g.ids = [...g.nodes.map(n => n.id), ...[...g.parts.values()].flatMap(p => p.ids)];
      g.first = Math.min(...g.ids);
      g.kernels = [...new Set(g.ids.flatMap(i => this.nodes.get(i).kernels))];
    };
    walk(this.root, null);
    this.open = this.few();
    this.draw();
  }

  // As many levels open as make no more than LARGE boxes.
  few() {
    const open = new Set(['']), size = g => g.parts.size + g.nodes.length;
    let level = [this.root], boxes = size(this.root);
    while (level.length) {
      level = level.flatMap(g => [...g.parts.values()]);
      boxes += level.reduce((s, g) => s + size(g), 0);
      if (boxes > LARGE) break;
      for (const g of level) open.add(g.key);
    }
    return open;
  }

  tidy(g) {
    const parts = [...g.parts.values()].map(p => this.tidy(p));
    g.parts = new Map();
    for (const p of parts) {
      const alone = p.nodes.length + p.parts.size === 1;
      if (alone && !(this.mode === 'kernels' && p.name.startsWith('kernel'))) {
        g.nodes.push(...p.nodes);
        for (const q of p.parts.values()) {
          g.parts.set(q.key, Object.assign(q, { name: `${p.name}/${q.name}` }));
        }
      } else g.parts.set(p.key, p);
    }
    if (!g.key && g.parts.size === 1 && !g.nodes.some(n => n.args.length)) {
      const [only] = g.parts.values();
      only.nodes.push(...g.nodes);
      return Object.assign(only, { key: '', name: '' });
    }
    return g;
  }

  // What stands for a node now: itself, or the outermost closed group around it.
  box(id) {
    let found = null;
    for (let g = this.home.get(id); g; g = g.up) if (!this.open.has(g.key)) found = g;
    return found ? 'g' + found.key : 'n' + id;
  }

  reveal(ids) {
    let changed = false;
    for (const id of ids)
      for (let g = this.home.get(id); g; g = g.up)
        if (!this.open.has(g.key)) { this.open.add(g.key); changed = true; }
    if (changed) this.draw();
  }

  toggle(key) {
    const before = this.where.get('g' + key);
    this.open.has(key) ? this.open.delete(key) : this.open.add(key);
    this.draw();
    const now = this.where.get('g' + key);
    if (before && now) {  // what was clicked stays where it was
      this.pane.scrollLeft += (now.x - before.x) * this.zoom;
      this.pane.scrollTop += (now.top - before.top) * this.zoom;
    }
  }

  all(open) {
    this.open = new Set(open ? this.groups.keys() : ['']);
    this.draw();
  }

  // ---- drawing ----

  arrange(g) {
    const items = [...g.parts.values()].map(p => ({ key: 'g' + p.key, part: p, first: p.first }));
    for (const n of g.nodes) items.push({ key: 'n' + n.id, node: n, first: n.id });
    const sorted = this.sorted(items);
    for (const item of sorted)
      Object.assign(item, item.node ? this.face(item.node) : this.size(item.part));
    return { items: sorted, ...layered(sorted, this.edges(sorted)) };
  }

  // Pairs of items of which the second reads the first.
  edges(items) {
    const index = new Map(), seen = new Set(), edges = [];
    const ids = item => item.node ? [item.node.id] : item.part.ids;
    items.forEach((item, i) => { for (const id of ids(item)) index.set(id, i); });
    items.forEach((item, i) => {
      for (const id of ids(item)) for (const a of this.nodes.get(id).args) {
        const j = index.get(a);
        if (j === undefined || j === i || seen.has(j * items.length + i)) continue;
        seen.add(j * items.length + i);
        edges.push([j, i]);
      }
    });
    return edges;
  }

  // Producers first; where groups read each other, as the nodes stand in the graph.
  sorted(items) {
    items.sort((a, b) => a.first - b.first);
    const outs = items.map(() => []), missing = new Array(items.length).fill(0);
    for (const [a, b] of this.edges(items)) { outs[a].push(b); missing[b]++; }
    const done = [], taken = new Set();
    const ready = items.map((_, i) => i).filter(i => !missing[i]).reverse();
    for (let next = 0; done.length < items.length;) {
      let i = ready.pop();
      if (i === undefined) { while (taken.has(next)) next++; i = next; }
      if (taken.has(i)) continue;
      taken.add(i);
      done.push(items[i]);
      for (const j of outs[i].reverse()) if (!--missing[j] && !taken.has(j)) ready.push(j);
    }
    return done;
  }

  face(n) {
    const lines = [['op', n.op]];
    if (n.named && n.args.length) lines.push(['name', n.text]);
    lines.push(['type', n.type]);
    if (n.outputs.length) lines.push(['tag', '→ ' + n.outputs.join(', ')]);
    const shown = lines.map(([k, t]) => [k, short(t)]);
    const w = Math.max(...shown.map(([, t]) => t.length)) * CHAR + 2 * PAD;
    return { lines: shown, w, h: shown.length * LINE + 8 };
  }

  size(g) {
    if (!this.open.has(g.key)) {
      const lines = [['op', '▸ ' + short(called(g))], ['type', `${g.count} nodes`]];
      if (g.kernels.length && this.mode !== 'kernels')
        lines.push(['type', `${g.kernels.length} kernel${g.kernels.length > 1 ? 's' : ''}`]);
      const w = Math.max(...lines.map(([, t]) => t.length)) * CHAR + 2 * PAD + 6;
      return { lines, w, h: lines.length * LINE + 12 };
    }
    const inner = this.arrange(g);
    return { inner, w: Math.max(inner.width, (called(g).length + 3) * CHAR) + 24,
      h: inner.height + 40 };
  }

  draw() {
    const inner = this.arrange(this.root);
    this.where = new Map();
    this.width = inner.width + 32;
    this.height = inner.height + 32;
    this.svg.replaceChildren(this.drawn(inner, 16, 16));
    this.scale(this.zoom);
    this.light(this.lit);
  }

  drawn(level, left, top) {
    const g = make('g');
    for (const route of level.routes)
      g.append(make('path', { class: 'edge', d: curve(route.map(([x, y]) => [x + left, y + top])) }));
    for (const item of level.items) {
      const x = item.x + left - item.w / 2, y = item.y + top - item.h / 2;
      this.where.set(item.key, { x, top: y, w: item.w, h: item.h });
      g.append(item.node ? this.node(item, x, y) : this.frame(item, x, y));
    }
    return g;
  }

  node(item, x, y) {
    const n = item.node, leaf = !n.args.length;
    const kind = ['node', leaf && 'leaf', VIEWS.has(n.kind) && 'view', n.outputs.length && 'output'];
    const g = make('g', { class: kind.filter(Boolean).join(' '), 'data-box': item.key });
    const fill = n.kernels.length ? `fill:${colour(n.kernels[0])}` : '';
    g.append(make('title', {}, `${n.text}\n${n.line}` +
      (n.kernels.length ? `\nin kernel ${n.kernels.join(', ')}` : '')));
    g.append(make('rect', { x, y, width: item.w, height: item.h, rx: leaf ? item.h / 2 : 5,
      class: 'box', style: fill }));
    this.words(g, item, x + item.w / 2, y);
    if (this.after && n.kernels.length > 1)
      g.append(make('text', { class: 'tag', x: x + item.w + 2, y: y + 8 },
        n.kernels.map(k => 'k' + k).join(',')));
    return g;
  }

  words(g, item, x, y) {
    item.lines.forEach(([kind, text], k) => g.append(make('text',
      { class: kind, x, y: y + LINE * (k + 1), 'text-anchor': 'middle' }, text)));
  }

  frame(item, x, y) {
    const p = item.part, k = /^kernel (\d+)$/.exec(p.name);
    const g = make('g', { class: item.inner ? 'group open' : 'group', 'data-box': item.key,
      'data-group': p.key, tabindex: 0, role: 'button', 'aria-expanded': !!item.inner,
      'aria-label': `${p.name}, ${p.count} nodes` });
    const one = k ? +k[1] : p.kernels.length === 1 ? p.kernels[0] : null;
    g.append(make('rect', { x, y, width: item.w, height: item.h, rx: 8, class: 'box',
      style: one == null ? '' : `fill:${colour(one)}` }));
    if (!item.inner) { this.words(g, item, x + item.w / 2, y + 2); return g; }
    g.append(make('text', { class: 'op', x: x + 12, y: y + 18 }, '▾ ' + called(p)));
    g.append(this.drawn(item.inner, x + (item.w - item.inner.width) / 2, y + 28));
    return g;
  }

  // ---- light, zoom, pan ----

  light(ids) {
    this.lit = new Set(ids);
    const boxes = new Set([...this.lit].filter(i => this.home.has(i)).map(i => this.box(i)));
    for (const e of this.svg.querySelectorAll('[data-box]'))
      e.classList.toggle('lit', boxes.has(e.dataset.box));
  }

  // Scrolls only where nothing that is lit can be seen.
  show(ids) {
    const boxes = ids.filter(i => this.home.has(i)).map(i => this.where.get(this.box(i)));
    const p = this.pane, z = this.zoom;
    const inside = b => b.x * z >= p.scrollLeft && (b.x + b.w) * z <= p.scrollLeft + p.clientWidth
      && b.top * z >= p.scrollTop && (b.top + b.h) * z <= p.scrollTop + p.clientHeight;
    if (!boxes.length || boxes.some(b => b && inside(b))) return;
    const b = boxes.find(Boolean);
    p.scrollTo((b.x + b.w / 2) * z - p.clientWidth / 2, (b.top + b.h / 2) * z - p.clientHeight / 2);
  }

  scale(zoom) {
    this.zoom = Math.min(3, Math.max(0.05, zoom));
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    this.svg.setAttribute('width', this.width * this.zoom);
    this.svg.setAttribute('height', this.height * this.zoom);
  }

  fit() {
    const z = Math.min((this.pane.clientWidth - 12) / this.width, 1);
    this.scale(Math.max(z, 0.55));
    this.pane.scrollTo((this.width * this.zoom - this.pane.clientWidth) / 2, 0);
  }

  listen() {
    let moved = 0;
    this.pane.onpointerdown = () => { moved = 0; };
    this.pane.onpointermove = e => { if (e.buttons & 1) {
      moved += Math.abs(e.movementX) + Math.abs(e.movementY);
      this.pane.scrollLeft -= e.movementX; this.pane.scrollTop -= e.movementY; } };
    this.pane.onwheel = e => { if (e.ctrlKey) { e.preventDefault();
      this.scale(this.zoom * Math.exp(-e.deltaY / 300)); } };
    const act = e => {
      const g = e.target.closest('[data-box]');
      if (!g) return select(null);
      if (g.dataset.group !== undefined) this.toggle(g.dataset.group);
      else pick(this, +g.dataset.box.slice(1));
    };
    this.svg.onclick = e => { if (moved < 6) act(e); };
    this.svg.onkeydown = e => { if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault(); e.stopPropagation(); act(e); } };
  }
}

// ---- the side: steps, kernels, a node ------------------------------------------------

const panes = {};
let current = null;  // number of a step among data.steps

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

function unfold(i, open) {
  $(`#steps [data-fold="${i}"]`).setAttribute('aria-expanded', open);
  for (const k of folds[i]) $(`#steps [data-step="${k}"]`).hidden = !open;
}

function mark(e) {
  for (const old of document.querySelectorAll('.list .now')) old.classList.remove('now');
  e?.classList.add('now');
  e?.scrollIntoView({ block: 'nearest' });
}

// All steps of a fold at once.
function selectFold(i) {
  const f = folds[i], steps = f.map(k => data.steps[k]);
  current = f[0];
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
  current = k;
  mark(null);
  $('#count').textContent = k == null ? `${data.steps.length} steps`
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
    table.append(row(`error of ${m.output}`, `${error(m.error)}, as written ` +
      `${error(m.own)} (${m.inputs})`));
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

// ---- the page ------------------------------------------------------------------------

function figure(name, ...values) {
  const box = make('div', { class: 'figure' }, make('b', {}, name));
  values.forEach((v, i) => box.append(i ? make('i', {}, '→') : '',
    make(i === values.length - 1 ? 'strong' : 'span', {}, v)));
  return box;
}

function header() {
  const total = Math.max(-1, ...data.after.flatMap(n => n.kernels)) + 1;
  const errors = (data.measured ?? []).map(m => m.error);
  const worst = errors.includes(null) ? null : Math.max(...errors);
  $('#title').textContent = data.model;
  $('#figures').append(
    figure('nodes', `${data.nodes[0]}`, `${data.nodes[1]}`),
    figure('kernels', `${data.own_kernels}`, `${total}`),
    figure(`predicted on ${data.device}`, seconds(data.own_seconds), seconds(data.seconds)),
    figure('equal', data.equal),
    figure('largest error', data.measured ? error(worst) : 'not measured'),
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

start();
