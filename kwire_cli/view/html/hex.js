// The bytes of a frame or batch, each with the field that it belongs to.

class Bytes {
  constructor(host, heard) {
    this.host = host;
    this.heard = heard;
    this.rows = new Rows(host, (index) => this.row(index));
    this.lit = this.chosen = -1;
    host.addEventListener("mouseover", (event) => this.at(event, heard.hover));
    host.addEventListener("mouseleave", () => heard.hover(-1));
    host.addEventListener("click", (event) => this.at(event, heard.pick));
  }

  at(event, then) {
    const cell = event.target.closest("[data-at]");
    if (!cell) return;
    const [buffer, index] = cell.dataset.at.split(":").map(Number);
    then(this.owners[buffer][index], buffer, index);
  }

  show(fields) {
    this.fields = fields;
    this.lit = this.chosen = -1;
    this.width = matchMedia("(max-width: 760px)").matches ? 8 : 16;
    this.owners = fields.buffers.map((buffer) => new Int32Array(buffer.bytes.length).fill(-1));
    fields.nodes.forEach((node, i) => {
      if (!node.kind) return;
      const from = node.start - fields.buffers[node.buffer].at;
      this.owners[node.buffer].fill(i, from, node.end - fields.buffers[node.buffer].at);
    });
    this.lines = [];
    fields.buffers.forEach((buffer, number_) => {
      if (fields.buffers.length > 1) this.lines.push({ buffer: number_, title: `${buffer.name}, ${counted(buffer.size, "byte")}` });
      for (let at = 0; at < buffer.bytes.length; at += this.width) this.lines.push({ buffer: number_, from: at });
      if (buffer.bytes.length < buffer.size) {
        this.lines.push({ buffer: number_, title: `… ${counted(buffer.size - buffer.bytes.length, "more byte")}; --full has all` });
      }
    });
    this.host.scrollTop = 0;
    this.rows.reset(this.lines.length);
  }

  row(index) {
    const line = this.lines[index];
    if (line.title) return el("div", { class: "row note" }, line.title);
    const buffer = this.fields.buffers[line.buffer];
    const cells = el("span", { class: "cells" });
    const text = el("span", { class: "text" });
    for (let i = line.from; i < Math.min(line.from + this.width, buffer.bytes.length); i++) {
      const owner = this.owners[line.buffer][i];
      const byte = buffer.bytes[i];
      const masked = buffer.isMasked(i);
      const properties = { class: this.look(owner, line.buffer, i), "data-at": `${line.buffer}:${i}` };
      cells.append(el("span", properties, masked ? "**" : byte.toString(16).padStart(2, "0")));
      text.append(el("span", properties, masked ? "*" : byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·"));
    }
    return el("div", { class: "row" }, el("span", { class: "offset" }, hexOffset(buffer.at + line.from)), cells, text);
  }

  look(owner, buffer, index) {
    if (owner < 0) return "free";
    const node = this.fields.nodes[owner];
    const offset = index + this.fields.buffers[buffer].at;
    let look = node.kind === "gap" ? "gap" : `c${node.turn}`;
    if (offset === node.start) look += " first";
    if (offset < node.value) look += " prefix";
    if (this.has(this.lit, buffer, offset)) look += " lit";
    if (this.has(this.chosen, buffer, offset)) look += " chosen";
    return look;
  }

  has(i, buffer, offset) {
    const node = this.fields.nodes[i];
    return node !== undefined && node.buffer === buffer && offset >= node.start && offset < node.end;
  }

  light(i) {
    this.lit = i;
    this.repaint();
  }

  choose(i, scroll = true) {
    this.chosen = i;
    this.repaint();
    const node = this.fields.nodes[i];
    if (!scroll || !node) return;
    const from = node.start - this.fields.buffers[node.buffer].at;
    const index = this.lines.findIndex((line) => line.buffer === node.buffer && line.from !== undefined && line.from + this.width > from);
    if (index >= 0) this.rows.see(index);
  }

  repaint() {
    for (const cell of this.host.querySelectorAll("[data-at]")) {
      const [buffer, index] = cell.dataset.at.split(":").map(Number);
      const look = this.look(this.owners[buffer][index], buffer, index);
      if (cell.className !== look) cell.className = look;
    }
  }
}
