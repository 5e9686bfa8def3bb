'use strict';
// The layout of one level of boxes: layers by longest paths, order by barycentres, then
// places near neighbours (Sugiyama, Tagawa, Toda 1981).

const CHAR = 6.7, LINE = 15, PAD = 9, GAP_X = 16, GAP_Y = 26, LONGEST = 30;

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
