// The fields of a frame or batch: what they say, what they are in, and which of them are open.

class Fields {
  constructor(entry) {
    this.buffers = entry.buffers.map((buffer) => {
      const bytes = Uint8Array.from(atob(buffer.data), (letter) => letter.charCodeAt(0));
      return { ...buffer, bytes, isMasked: (i) => buffer.masked.some(([from, to]) => i >= from && i < to) };
    });
    let turn = 0;
    const open = [];
    this.nodes = entry.nodes.map((row, i) => {
      const [depth, name, kind, buffer, start, value, end, ...said] = row;
      open.length = depth;
      const parent = depth ? open[depth - 1] : -1;
      open[depth] = i;
      return { depth, name, kind, buffer, start, value, end, said, parent, turn: kind ? turn++ % 6 : 0, has: false };
    });
    this.nodes.forEach((node) => {
      if (node.parent >= 0) this.nodes[node.parent].has = true;
    });
    this.anomalies = entry.anomalies;
    this.leftOut = entry.leftOut || 0;
  }

  text(i) {
    let text = "";
    const { said } = this.nodes[i];
    for (let at = 0; at < said.length; at += 2) text += said[at];
    return text;
  }

  // As `kwire decode --format jsonl` names places: names in brackets are of no field.
  path(i) {
    let path = "";
    for (let at = i; at >= 0; at = this.nodes[at].parent) {
      const { name } = this.nodes[at];
      if (name.startsWith("(")) continue;
      path = !path || path.startsWith("[") ? name + path : `${name}.${path}`;
    }
    return path;
  }

  // The innermost field that has a byte.
  atOffset(offset, buffer = 0) {
    let found = -1;
    this.nodes.forEach((node, i) => {
      if (node.buffer === buffer && node.kind && offset >= node.start && offset < node.end) found = i;
    });
    return found;
  }

  ofAnomaly(anomaly) {
    const exact = anomaly.path ? this.nodes.findIndex((_, i) => this.path(i) === anomaly.path) : -1;
    return exact >= 0 ? exact : this.atOffset(anomaly.offset);
  }
}

const OPEN_AT_FIRST = 400;

class Tree {
  constructor(host, heard) {
    this.host = host;
    this.heard = heard;
    this.rows = new Rows(host, (index) => this.row(index));
    this.chosen = this.lit = -1;
    host.setAttribute("role", "tree");
    host.addEventListener("mouseover", (event) => this.at(event, heard.hover));
    host.addEventListener("mouseleave", () => heard.hover(-1));
    host.addEventListener("click", (event) => {
      this.at(event, (i) => {
        if (event.target.closest(".twist")) this.toggle(i);
        else heard.pick(i);
      });
    });
    host.addEventListener("dblclick", (event) => this.at(event, (i) => this.toggle(i)));
    host.addEventListener("keydown", (event) => this.key(event));
  }

  at(event, then) {
    const row = event.target.closest("[data-node]");
    if (row) then(Number(row.dataset.node));
  }

  show(fields) {
    this.fields = fields;
    this.chosen = this.lit = -1;
    this.odd = new Set(fields.anomalies.map((anomaly) => fields.ofAnomaly(anomaly)));
    this.open = new Set();
    const kids = new Map();
    fields.nodes.forEach((node, i) => (kids.has(node.parent) ? kids.get(node.parent).push(i) : kids.set(node.parent, [i])));
    let room = OPEN_AT_FIRST;
    for (let level = kids.get(-1) || []; level.length && room > 0; ) {
      const below = [];
      for (const i of level) {
        const inner = kids.get(i) || [];
        if (!inner.length || inner.length > room) continue;
        room -= inner.length;
        this.open.add(i);
        below.push(...inner);
      }
      level = below;
    }
    this.host.scrollTop = 0;
    this.list();
  }

  list() {
    this.seen = [];
    const { nodes } = this.fields;
    for (let i = 0; i < nodes.length; ) {
      this.seen.push(i);
      const { depth, has } = nodes[i];
      i += 1;
      if (has && !this.open.has(i - 1)) while (i < nodes.length && nodes[i].depth > depth) i += 1;
    }
    this.place = new Map(this.seen.map((i, index) => [i, index]));
    this.rows.reset(this.seen.length + (this.fields.leftOut || !nodes.length ? 1 : 0));
  }

  row(index) {
    const i = this.seen[index];
    if (i === undefined && !this.fields.leftOut) return el("div", { class: "row note" }, "This is no frame of Kafka's: it has no fields, and its bytes are not in the page.");
    if (i === undefined) return el("div", { class: "row note" }, `${counted(this.fields.leftOut, "field or more", "fields or more")} are left out; --full has all`);
    const node = this.fields.nodes[i];
    const open = this.open.has(i);
    const said = el("span", { class: "said" });
    for (let at = 0; at < node.said.length; at += 2) said.append(el("span", { class: node.said[at + 1] && `s-${node.said[at + 1]}` }, node.said[at]));
    const row = el(
      "div",
      {
        id: `n${i}`, "data-node": i, role: "treeitem", "aria-level": node.depth + 1, "aria-selected": i === this.chosen ? "true" : "false",
        "aria-expanded": node.has ? String(open) : null, class: this.look(i),
      },
      el("span", { class: "twist", "aria-hidden": "true" }, node.has ? (open ? "▾" : "▸") : ""),
      el("span", { class: `name c${node.turn}` }, node.name),
      said,
      el("span", { class: "size" }, node.end > node.start ? short(node.end - node.start) : ""),
    );
    row.style.paddingInlineStart = `${Math.min(node.depth, 14) * 14 + 4}px`;
    return row;
  }

  look(i) {
    const { name, kind } = this.fields.nodes[i];
    let look = "row";
    if (name.startsWith("(")) look += " aside";
    if (!kind) look += " group";
    if (this.odd.has(i)) look += " odd";
    if (i === this.lit) look += " lit";
    if (i === this.chosen) look += " chosen";
    return look;
  }

  again(...numbers) {
    for (const i of numbers) {
      const row = this.rows.made.get(this.place.get(i));
      if (!row) continue;
      row.className = this.look(i);
      row.setAttribute("aria-selected", i === this.chosen ? "true" : "false");
    }
  }

  light(i) {
    const before = this.lit;
    this.lit = i;
    this.again(before, i);
  }

  // Open what a field is in, and show it.
  choose(i, scroll = true) {
    const before = this.chosen;
    this.chosen = i;
    let opened = false;
    for (let at = this.fields.nodes[i]?.parent ?? -1; at >= 0; at = this.fields.nodes[at].parent) {
      if (!this.open.has(at)) {
        this.open.add(at);
        opened = true;
      }
    }
    if (opened) this.list();
    this.again(before, i);
    if (i >= 0) this.host.setAttribute("aria-activedescendant", `n${i}`);
    if (scroll && this.place.has(i)) this.rows.see(this.place.get(i));
  }

  toggle(i, open = !this.open.has(i)) {
    if (!this.fields.nodes[i]?.has) return;
    if (open) this.open.add(i);
    else this.open.delete(i);
    this.list();
  }

  all(open) {
    this.open = new Set(open ? this.fields.nodes.flatMap((node, i) => (node.has ? [i] : [])) : []);
    this.list();
  }

  key(event) {
    const index = this.place.get(this.chosen) ?? -1;
    const node = this.fields.nodes[this.chosen];
    const page = Math.max(1, Math.floor(this.host.clientHeight / this.rows.height) - 1);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: this.seen.length - 1 }[event.key];
    if (to !== undefined) this.heard.pick(this.seen[Math.max(0, Math.min(this.seen.length - 1, to))]);
    else if (event.key === "ArrowRight" && node) {
      if (node.has && !this.open.has(this.chosen)) this.toggle(this.chosen, true);
      else if (node.has) this.heard.pick(this.chosen + 1);
    } else if (event.key === "ArrowLeft" && node) {
      if (node.has && this.open.has(this.chosen)) this.toggle(this.chosen, false);
      else if (node.parent >= 0) this.heard.pick(node.parent);
    } else if (event.key === "Enter" || event.key === " ") this.toggle(this.chosen);
    else if (event.key === "*") this.all(true);
    else return;
    event.preventDefault();
  }
}
