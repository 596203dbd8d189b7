// Views beside fields and bytes: what takes the bytes of a frame, all frames over time, what is odd.

// Whether it is a part of what a field's bytes mean, which count once; batches in a field of records are what it consists of.
function isMeaning(fields, i) {
  for (let at = fields.nodes[i].parent; at >= 0; at = fields.nodes[at].parent) {
    const { kind } = fields.nodes[at];
    if (kind && kind !== "records") return true;
  }
  return false;
}

const KINDS = { count: "counts of elements", presence: "presence markers", "tag-count": "counts of tags", "tag-header": "tags and their sizes", gap: "not decoded" };

function costsOf(fields, title, pick) {
  const size = fields.buffers[0]?.size || 0;
  const items = fields.nodes.map((node, i) => ({ node: i, name: node.name, title: fields.path(i) || node.name, value: node.end - node.start, children: [] }));
  const root = { name: `${title}, ${counted(size, "byte")}`, value: size, children: [] };
  const kinds = new Map();
  const add = (kind, bytes) => bytes && kinds.set(kind, (kinds.get(kind) || 0) + bytes);
  fields.nodes.forEach((node, i) => {
    if (node.buffer || isMeaning(fields, i)) return;
    (node.parent < 0 ? root : items[node.parent]).children.push(items[i]);
    if (!node.kind) return;
    const what = KINDS[node.kind];
    const isOuter = node.has && node.kind === "records"; // the fields of its batches count, and its own length
    if (what) add(what, node.end - node.start);
    else add("lengths before values", node.value - node.start);
    if (!what && !isOuter) add("values", node.end - node.value);
  });
  const sorted = [...kinds].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
  return [el("h2", {}, "What takes the bytes"), icicle(root, pick), el("h2", {}, "By kind"), bars(sorted, size)];
}

function overTime(rows, kind, pick) {
  const timed = rows.map((row, index) => ({ row, index })).filter(({ row }) => row.at);
  const point = (value) => ({ row, index }) => ({ at: row.at, value: value(row), look: row.kind, odd: row.odd, row: index, name: `${row.number ?? row.position} ${row.title}` });
  const slow = timed.filter(({ row }) => row.latency > 0).map(point((row) => row.latency));
  const sizes = timed.filter(({ row }) => row.size > 0).map(point((row) => row.size));
  const latency = slow.length ? [el("h2", {}, "Latency of responses"), points(slow, seconds, pick)] : [];
  return [...latency, el("h2", {}, kind === "batches" ? "Sizes of batches by their last timestamp" : "Sizes: requests are squares, responses circles"), points(sizes, (size) => `${number(size)} B`, pick)];
}

function anomaliesOf(odd, rows, kind, pick) {
  if (!odd.length) return el("p", { class: "nothing" }, "Nothing is odd.");
  const made = odd.map(({ row, anomaly }, index) =>
    el("tr", { "data-odd": index, tabindex: "0", onclick: () => pick(index), onkeydown: (event) => event.key === "Enter" && pick(index) },
      el("td", { class: "right" }, String(rows[row].number ?? rows[row].position)), el("td", {}, el("span", { class: "chip warn" }, anomaly.code)),
      el("td", { class: "mono" }, anomaly.path), el("td", { class: "right" }, anomaly.offset < 0 ? "" : String(anomaly.offset)), el("td", {}, anomaly.detail)));
  const heads = [kind === "batches" ? "at" : "frame", "code", "path", "offset", "what"].map((head) => el("th", { scope: "col" }, head));
  return el("div", { class: "scroll" }, el("table", { class: "odd" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, made)));
}
