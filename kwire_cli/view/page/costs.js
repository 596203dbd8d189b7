// Costs: where the bytes of the chosen calls go, api by api and field by field; a click zooms.

/** @param {string} name @param {string} tone */
const nodeOf = (name, tone) => ({ name, tone, bytes: 0, framing: 0, children: new Map() });

/** Add bytes along a path. @param {any} root @param {string[]} path */
function addBytes(root, path, size, framing, tone) {
  let node = root;
  for (const part of ["", ...path]) {
    if (part && !node.children.has(part)) node.children.set(part, nodeOf(part, tone));
    if (part) node = node.children.get(part);
    node.bytes += size;
    node.framing += framing;
  }
}

/** The bytes of the chosen calls, by api, side and field. What the parts of a field do not cover is its own. */
async function costTree() {
  const root = nodeOf("All bytes", "meta");
  for (const i of chosen) {
    for (const side of ["asked_at", "answered_at"]) {
      const found = await detail(detailAt(i, side));
      const nodes = (found?.nodes || []).filter((node) => node[3] === 0);
      const own = nodes.map((node) => node[6] - node[4]);
      const above = [];
      nodes.forEach(([depth, , , , start, , end], n) => {
        above[depth] = n;
        if (depth) own[above[depth - 1]] -= end - start;
      });
      const trail = [];
      nodes.forEach(([depth, name, kind, , start, value], n) => {
        trail[depth] = plainName(name);
        trail.length = depth + 1;
        if (own[n] <= 0) return;
        const isLeaf = !(nodes[n + 1]?.[0] > depth);
        const isFraming = !isLeaf || /count|length|crc|presence|tag/.test(kind) || name === "size";
        const framing = isFraming ? own[n] : Math.min(own[n], Math.max(0, value - start));
        const parts = trail.filter((part) => !/^\[\d+\]$/.test(part)).filter((part, at, all) => part !== all[at - 1]);
        const kindOf = side === "asked_at" ? "request" : "response";
        addBytes(root, [APIS[API[i]], kindOf, ...parts], own[n], framing, FAMILY[API[i]]);
      });
    }
  }
  return root;
}

async function showCosts(view) {
  const root = await costTree();
  if (state.tab !== "costs") return;
  const holder = el("div.costs");
  view.replaceChildren(holder);
  const isAll = !isPart() && !state.filter;
  drawCosts(holder, root, `of ${isAll ? "all frames in this page" : "what is chosen"}`, (path) => {
    state.path = path;
    keep();
  });
}

/** An icicle that zooms, and its largest fields. @param {any} holder @param {any} root @param {string} whole */
function drawCosts(holder, root, whole, onZoom, path = state.path) {
  const way = [root];
  for (const name of path) {
    const next = way[way.length - 1].children.get(name);
    if (next) way.push(next);
  }
  const node = way[way.length - 1];
  const here = way.slice(1).map((one) => one.name);
  const zoom = (to) => {
    onZoom(to);
    drawCosts(holder, root, whole, onZoom, to);
  };
  const crumbs = way.flatMap((one, at) => [
    at ? el("span.dim", "›") : null,
    at === way.length - 1 ? el("b", one.name) : button("", one.name, () => zoom(here.slice(0, at))),
  ]);
  const framing = node.framing ? `; ${share(node.framing, node.bytes)} framing (sizes, counts, lengths, tags)` : "";
  const text = `${bytes(node.bytes)}, ${share(node.bytes, root.bytes)} ${whole}${framing}`;
  const width = Math.max(200, (holder.clientWidth || $("#view").clientWidth) - 2 * parseFloat(color("edge")));
  const fields = leavesOf(node, here).sort((a, b) => b.node.bytes - a.node.bytes);
  const rows = fields
    .slice(0, 16)
    .map((one) => [
      one.path.join(" › "),
      [number(one.node.bytes), "num"],
      [share(one.node.bytes, root.bytes), "num"],
      [barOf(one.node.bytes / fields[0].node.bytes), "bar"],
    ]);
  const table = grid(["Field", ["Bytes", "num"], ["Share", "num"], ""], rows);
  holder.replaceChildren(
    el("div.crumbs", crumbs, el("span.dim", text)),
    icicle(node, here, root.bytes, width, zoom),
    el("h2", "Largest fields"),
    table,
  );
}

/** @param {any} node @param {string[]} path @returns {{node: any, path: string[]}[]} */
function leavesOf(node, path) {
  if (!node.children.size) return [{ node, path }];
  return [...node.children.values()].flatMap((next) => leavesOf(next, [...path, next.name]));
}

/** @param {any} node @param {string[]} path @param {number} total @param {number} width */
function icicle(node, path, total, width, zoom) {
  const made = el("div.ice", { role: "tree", "aria-label": "Bytes" });
  let deepest = 0;
  const add = (one, at, depth, left, right) => {
    const pixels = (right - left) * width;
    if (pixels < 2) return;
    deepest = Math.max(deepest, depth);
    const isFraming = !one.children.size && one.framing > 0 && one.framing >= one.bytes;
    const style = `button.cell.t-${one.tone}.${isFraming ? "frame" : ""}.${pixels > 34 ? "" : "thin"}`;
    const title = `${at.join(" › ") || one.name}: ${bytes(one.bytes)}, ${share(one.bytes, total)}`;
    const click = () => one.children.size && zoom(at);
    const more = { type: "button", role: "treeitem", "aria-level": depth + 1, title, click };
    const cell = el(style, more, pixels > 34 ? one.name : "", pixels > 130 ? el("i", share(one.bytes, total)) : null);
    cell.style.top = `${depth * 24}px`;
    made.append(place(cell, left, right - 1 / width));
    let from = left;
    for (const next of [...one.children.values()].sort((a, b) => b.bytes - a.bytes)) {
      const to = from + ((right - left) * next.bytes) / one.bytes;
      add(next, [...at, next.name], depth + 1, from, to);
      from = to;
    }
  };
  add(node, path, 0, 0, 1);
  made.style.height = `${(deepest + 1) * 24}px`;
  return made;
}

/** The icicle of an answer. */
function icicleOf(block) {
  const root = nodeOf("All bytes", "meta");
  for (const [path, size] of block.sizes) addBytes(root, path, size, 0, familyOf(path[0]));
  const holder = el("div.costs");
  drawCosts(holder, root, "of all", () => {}, []);
  return holder;
}
