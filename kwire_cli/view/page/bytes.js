// One row opened: its fields beside its bytes. What the pointer is on lights up on the other side.

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const isPhone = () => innerWidth < 720;

/** The panel of a row, with what it has of a request and of a response. @param {number} i */
function panelOf(i) {
  const request = ["Request", REQUEST[i], "asked_at", "request_size"];
  const response = ["Response", RESPONSE[i], "answered_at", "response_size"];
  const parts = [request, response].filter((part) => part[1] !== null);
  const split = el("div.split");
  const tools = el("div.tools");
  const holder = el("div.opened", { role: "row" }, el("div", { role: "cell" }, tools, split));
  let current = 0;
  const detailOf = () => detail(detailAt(i, parts[current][2]));
  const tabs = parts.map(([name, frame, , size], at) => {
    const text = `frame ${frame}, ${bytes(R.values[size]?.[i] ?? null)}`;
    return button("", [`${name} `, el("span.dim", text)], () => show(at));
  });
  const path = el("span.cut.dim.mono.opt");
  const command = () => commandFor(parts[current][1]);
  const copies = [
    copier("Copy hex", async () => hexOf((await detailOf()).buffers[0])),
    copier("JSON", async () => JSON.stringify(jsonOf((await detailOf()).nodes), null, 2)),
    copier("Path", () => path.dataset.path || ""),
    copier("Command", command),
  ];
  const close = button("", "Close", () => openRow(null), { title: "Close (Escape)" });
  tools.append(...tabs, path, el("span.gap"), ...copies, close);
  async function show(at) {
    current = at;
    tabs.forEach((tab, n) => tab.setAttribute("aria-pressed", String(n === at)));
    const found = await detailOf();
    const nothing = el("p.empty", `The page has no bytes of this row: ${command()}`);
    for (const copy of copies.slice(0, 3)) copy.hidden = !found;
    split.replaceChildren(...(found ? sides(found, path) : [nothing]));
    list?.layout();
  }
  show(isFailed(i) && parts.length > 1 ? 1 : 0);
  return holder;
}

/** The command that shows one frame. @param {number} frame */
function commandFor(frame) {
  return `kwire decode ${D.arguments}${D.start === null ? "" : ` --frames ${frame}-${frame}`} -f hex`;
}

/** @param {any} buffer @param {number} at */
const isMasked = (buffer, at) => buffer.masked.some(([from, to]) => at >= from && at < to);

const hexOf = (buffer) => [...raw(buffer.data)].map((byte, at) => (isMasked(buffer, at) ? "**" : HEX[byte])).join("");

/** The text of a node: every second part of its line is a style. */
const textOf = (node) => node.filter((_, at) => at > 6 && at % 2).join("");
const plainName = (name) => name.replace(/^\((.*)\)$/, "$1");

/** The values of nodes as an object: what fields of the message would be in JSON. */
function jsonOf(nodes) {
  const root = {};
  const above = [root];
  nodes.forEach((node, at) => {
    const [depth, name, kind] = node;
    if (/^\((count|size|presence|tagged fields|tag)\)$/.test(name)) return;
    const next = nodes[at + 1];
    const isInner = next && next[0] > depth;
    const inner = isInner && /^(\(count\)|\[)/.test(next[1]) ? [] : {};
    const value = isInner ? inner : kind ? parsed(String(node[7] ?? "")) : textOf(node);
    const parent = above[depth];
    if (Array.isArray(parent)) parent.push(value);
    else if (parent) parent[plainName(name)] = value;
    above.length = depth + 1;
    above.push(isInner ? value : null);
  });
  return root;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fields and bytes beside each other. @param {any} found @param {any} path where the path of a field is said */
function sides(found, path) {
  const fields = el("div.fields", { tabindex: 0, role: "group", "aria-label": "Fields" });
  const panes = found.buffers.map(paneOf);
  const spots = [];
  const trail = [];
  for (const note of found.anomalies) fields.append(el("div.bad", `${note.code} ${note.path}: ${note.detail || ""}`));
  for (const node of found.nodes) {
    const [depth, name, kind, buffer, start, , end] = node;
    trail.length = depth;
    trail.push(plainName(name));
    const isBad = (name === "errorCode" && node[7] !== "0") || node[8] === "warning";
    const value = el(`span.val.${isBad ? "bad" : ""}`, textOf(node));
    const label = el(`span.${kind ? "dim" : ""}`, name);
    const row = indent(el("div.field", label, el("span.type", kind), value), depth);
    row.spot = spots.length;
    spots.push({ row, pane: panes[buffer], start, end, path: trail.join(".").replace(/\.\[/g, "[") });
    panes[buffer].own(start, end, row.spot);
    fields.append(row);
  }
  if (found.leftOut) fields.append(el("div.dim", `and ${plural(found.leftOut, "row")} more`));
  let lit = null;
  /** @param {number | undefined} at @param {boolean} isField */
  const light = (at, isField) => {
    if (at === undefined || at < 0 || lit === spots[at]) return;
    lit?.row.classList.remove("lit");
    lit?.pane.light(lit.start, lit.end, false);
    lit = spots[at];
    lit.row.classList.add("lit");
    lit.pane.light(lit.start, lit.end, true);
    put(path, `${lit.path}  ${lit.start}–${lit.end - 1}`);
    path.dataset.path = lit.path;
    const other = isField ? lit.pane.cellAt(lit.start) : lit.row;
    other?.scrollIntoView({ block: "nearest" });
  };
  const onField = (event) => light(event.target.closest(".field")?.spot, true);
  fields.addEventListener("pointerover", onField);
  fields.addEventListener("click", onField);
  const nodes = panes.map((pane) => pane.node);
  const hex = el("div.hex", { tabindex: 0, role: "group", "aria-label": "Bytes" }, nodes);
  hex.addEventListener("pointerover", (event) => light(event.target.spotOf?.(), false));
  return [fields, hex];
}

/** The bytes of a buffer: offsets, hex and letters. */
function paneOf(buffer) {
  const data = raw(buffer.data);
  const width = isPhone() ? 8 : 16;
  const owner = new Int32Array(data.length).fill(-1);
  const cells = [];
  const node = el("div", el("div.dim", buffer.name));
  for (let start = 0; start < data.length; start += width) {
    const left = el("span");
    const right = el("span.asc");
    for (let at = start; at < start + width; at++) {
      const isHere = at < data.length;
      const isSecret = isHere && isMasked(buffer, at);
      const letter = data[at] > 31 && data[at] < 127 ? String.fromCharCode(data[at]) : ".";
      const byte = el("span", isHere ? (isSecret ? "**" : HEX[data[at]]) : "  ");
      const sign = el("span", isHere ? (isSecret ? "*" : letter) : " ");
      if (isHere) byte.spotOf = sign.spotOf = () => owner[at];
      if (isHere) cells.push([byte, sign]);
      left.append(byte, at % 8 === 7 && at !== start + width - 1 ? "  " : " ");
      right.append(sign);
    }
    node.append(el("div", el("span.offs", (buffer.at + start).toString(16).padStart(6, "0")), left, right));
  }
  const from = buffer.at;
  /** @param {number} start @param {number} end @param {number} spot */
  const own = (start, end, spot) => owner.fill(spot, Math.max(0, start - from), Math.max(0, end - from));
  /** @param {number} start @param {number} end @param {boolean} isOn */
  const light = (start, end, isOn) => {
    const lit = cells.slice(Math.max(0, start - from), Math.max(0, end - from)).flat();
    for (const cell of lit) cell.classList.toggle("lit", isOn);
  };
  return { node, own, light, cellAt: (at) => cells[at - from]?.[0] };
}
