// Search over names, paths, values and offsets of all that is in the page, in slices, so that the page goes on answering.

const MOST_FOUND = 1000;

class Search {
  constructor(inspector, told) {
    this.inspector = inspector;
    this.told = told;
    this.run = 0;
    this.found = [];
  }

  // The number of a byte, written as 26, 0x1a or @26.
  static offset(text) {
    const match = /^@?(0x[0-9a-f]+|\d+)$/i.exec(text);
    return match ? Number(match[1]) : -1;
  }

  start(text) {
    const run = ++this.run;
    const wanted = text.trim().toLowerCase();
    this.found = [];
    if (!wanted) {
      this.told(this.found, true);
      return;
    }
    const offset = Search.offset(wanted);
    const { current, rows } = this.inspector;
    this.atOffset = -1;
    if (offset >= 0 && current >= 0) {
      const node = this.inspector.fields.atOffset(offset);
      if (node >= 0) this.found.push({ row: current, node, offset, what: "byte" });
      this.atOffset = node;
    }
    if (wanted.startsWith("@")) {
      this.told(this.found, true);
      return;
    }
    let at = 0;
    const slice = () => {
      if (run !== this.run) return;
      const until = performance.now() + 12;
      while (at < rows.length && this.found.length < MOST_FOUND && performance.now() < until) this.inRow(at++, wanted);
      const done = at >= rows.length || this.found.length >= MOST_FOUND;
      this.told(this.found, done);
      if (!done) setTimeout(slice);
    };
    slice();
  }

  inRow(index, wanted) {
    const row = this.inspector.rows[index];
    const before = this.found.length;
    const fields = this.inspector.peek(index);
    for (let i = 0; i < fields.nodes.length && this.found.length < MOST_FOUND; i++) {
      if (index === this.inspector.current && i === this.atOffset) continue;
      const aside = fields.nodes[i].name.startsWith("(");
      const hit = aside ? fields.text(i).toLowerCase().includes(wanted) : `${fields.nodes[i].name} ${fields.text(i)}`.toLowerCase().includes(wanted);
      if (hit || (wanted.length > 2 && /[.[]/.test(wanted) && fields.path(i).toLowerCase().includes(wanted))) this.found.push({ row: index, node: i });
    }
    // A row says again what its fields say: it is a place of its own only if none of them matches.
    const said = [row.title, row.client, row.note, row.file, ...(row.topics || []), ...(row.errors || [])];
    const inRow = said.some((text) => text && String(text).toLowerCase().includes(wanted));
    if (inRow && this.found.length === before) this.found.push({ row: index, node: -1 });
  }
}
