// A pane shows a graph as nested boxes: a group is one box until it is opened, and each
// level is laid out on its own (layout.js).  `data` is the JSON of the page; a script of
// its own says what `select` and `pick` do.

const data = JSON.parse(document.getElementById('data').textContent);
const LARGE = 160;         // boxes that are shown at first
const RUN = 100;           // nodes of a group that has no other reason
const $ = (selector, root = document) => root.querySelector(selector);
const seconds = s => s == null ? '–' : s >= 1 ? `${+s.toPrecision(3)} s`
  : s >= 1e-3 ? `${+(s * 1e3).toPrecision(3)} ms` : `${+(s * 1e6).toPrecision(3)} µs`;
const error = e => e == null ? 'infinite' : e.toExponential(1);
const colour = k => `hsl(${(205 + k * 137.508) % 360} var(--tint))`;
const counted = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
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

// A kernel's frame also says what it is and takes.
function called(group) {
  const found = /^kernel (\d+)$/.exec(group.name);
  const k = found && data.kernels.find(k => k.number === +found[1]);
  return k ? `${group.name} · ${k.family} · ${k.once ? 'once' : seconds(k.seconds)}` : group.name;
}

const VIEWS = new Set(['reshape', 'expand', 'permute', 'slice', 'pad', 'window', 'concat']);

const CHANGED = new Set(['gone', 'changed', 'new']);

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
    if (this.after && data.kernels.length) found.push('kernels');
    if (tops.size > 1 || this.shown.some(n => n.scope.length > 1)) found.push('names');
    if (data.pieces.some(p => p.uses > 1)) found.push('layers');
    if (this.shown.length > 2 * LARGE) found.push('runs');
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
      case 'runs': return this.run(n);
      default: return [];
    }
  }

  // Nodes in the order in which they stand, so many to a group.
  run(n) {
    this.place ??= new Map(this.shown.map((m, i) => [m.id, i]));
    const first = this.place.get(n.id) - this.place.get(n.id) % RUN;
    return [`nodes ${first + 1}–${Math.min(first + RUN, this.shown.length)}`];
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
      g.first = g.ids.reduce((a, b) => Math.min(a, b), Infinity);
      g.touched = g.ids.filter(i => CHANGED.has(this.nodes.get(i).state)).length;
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
    for (const t of n.details ?? []) lines.push(['name', t]);
    lines.push(['type', n.type]);
    if (n.outputs.length) lines.push(['tag', '→ ' + n.outputs.join(', ')]);
    const shown = lines.map(([k, t]) => [k, short(t)]);
    const w = Math.max(...shown.map(([, t]) => t.length)) * CHAR + 2 * PAD;
    return { lines: shown, w, h: shown.length * LINE + 8 };
  }

  size(g) {
    if (!this.open.has(g.key)) {
      const lines = [['op', '▸ ' + short(called(g))], ['type', counted(g.count, 'node')]];
      if (g.kernels.length && this.mode !== 'kernels')
        lines.push(['type', counted(g.kernels.length, 'kernel')]);
      if (g.touched) lines.push(['type', counted(g.touched, 'change')]);
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
    const n = item.node, leaf = !n.args.length && !n.state;
    const kind = ['node', leaf && 'leaf', VIEWS.has(n.kind) && 'view', n.outputs.length && 'output', n.state];
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
    const kind = ['group', item.inner && 'open', p.touched && 'touched'];
    const g = make('g', { class: kind.filter(Boolean).join(' '), 'data-box': item.key,
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
