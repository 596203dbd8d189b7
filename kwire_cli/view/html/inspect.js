// A page of frames or batches: the list, and of the one that is looked at fields, bytes, costs; what is odd, what was found, all over time.

const MOST_KEPT = 24;
const HELP = [
  ["/", "search; Enter and Shift+Enter go through what was found"],
  ["@26, 0x1a", "in the search: the byte at that offset"],
  ["n, p", "next, previous frame or batch"],
  ["] , [", "next, previous anomaly"],
  ["↑ ↓ ← →", "in the fields: move, open, close; * opens all"],
  ["1 2 3 4", "fields and bytes, costs, time, anomalies"],
  ["Esc", "leave the search, or this"],
];

class Inspector {
  constructor(page) {
    this.page = page;
    this.rows = page.rows;
    this.current = -1;
    this.kept = new Map();
    this.odd = [];
    this.foundAt = -1;
    this.rows.forEach((row, index) => {
      if (row.odd) this.peek(index).anomalies.forEach((anomaly) => this.odd.push({ row: index, anomaly }));
    });
    this.lay();
    this.tree = new Tree(this.treeHost, { hover: (i) => this.hover(i), pick: (i) => this.pick(i) });
    this.bytes = new Bytes(this.bytesHost, { hover: (i) => this.hover(i), pick: (i, buffer, index) => this.pickByte(i, buffer, index) });
    this.list = new Rows(this.listHost, (index) => this.listRow(index));
    this.search = new Search(this, (found, done) => this.tellFound(found, done));
    this.list.reset(this.rows.length);
    addEventListener("keydown", (event) => this.key(event));
    matchMedia("(max-width: 760px)").addEventListener("change", () => this.bytes.show(this.fields));
    this.look("fields");
    if (this.rows.length) this.go(this.fromAddress());
  }

  // Entries are read when they are looked at, and a few of them kept.
  peek(index) {
    const known = this.kept.get(index);
    if (known) return known;
    const fields = new Fields(readData(`e${index}`));
    this.kept.set(index, fields);
    if (this.kept.size > MOST_KEPT) this.kept.delete([...this.kept.keys()].find((each) => each !== this.current));
    return fields;
  }

  lay() {
    const { page } = this;
    const total = this.rows.reduce((sum, row) => sum + row.size, 0);
    const what = page.kind === "batches" ? ["batch", "batches"] : ["frame", "frames"];
    const times = this.rows.filter((row) => row.at).map((row) => row.at);
    const some = counted(this.rows.length, ...what);
    const facts = [page.more ? `the first ${some} only, more with ${page.more}` : some, short(total)];
    if (page.more) document.title = `${page.title} (the first ${some} only)`;
    if (times.length > 1 && page.kind !== "batches") facts.push(seconds(Math.max(...times) - Math.min(...times)));
    if (this.odd.length) facts.push(counted(this.odd.length, "anomaly", "anomalies"));
    this.field = el("input", {
      type: "search", id: "search", placeholder: "Search names, paths, values, @offset", "aria-label": "Search names, paths, values, offsets", autocomplete: "off", spellcheck: "false",
    });
    this.field.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.find(), 120);
      this.tellFound(this.search.found, false);
    });
    this.listHost = el("div", { class: "list rows", tabindex: "0", role: "listbox", "aria-label": what[1] });
    this.listHost.addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (row) this.go(Number(row.dataset.row), true);
    });
    this.listHost.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -1e9, End: 1e9 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.go(Math.max(0, Math.min(this.rows.length - 1, this.current + by)));
    });
    this.foundHost = el("div", { class: "found", id: "found", hidden: true });
    this.treeHost = el("div", { class: "tree rows", tabindex: "0", "aria-label": "fields" });
    this.bytesHost = el("div", { class: "hex rows", tabindex: "0", "aria-label": "bytes" });
    this.chartHost = el("div", { class: "charts", tabindex: "0" });
    this.factsHost = el("div", { class: "about" });
    this.status = el("div", { class: "status", id: "status", role: "status", "aria-live": "polite" });
    this.help = el("dialog", { id: "help" }, el("h2", {}, "Keys"), el("dl", {}, HELP.map(([keys, means]) => [el("dt", {}, keys), el("dd", {}, means)])),
      el("button", { type: "button", onclick: () => this.help.close() }, "Close"));
    const tabs = [["list", what[1]], ["fields", "Fields"], ["bytes", "Bytes"], ["costs", "Costs"], ["time", "Time"], ["odd", `Anomalies ${this.odd.length || ""}`]];
    this.tabs = new Map(tabs.map(([name, text]) => [name, el("button", { type: "button", "data-view": name, onclick: () => this.look(name) }, text)]));
    if (!this.rows.some((row) => row.at)) this.tabs.get("time").hidden = true;
    document.body.className = "inspect";
    document.body.append(
      el("header", {}, el("h1", {}, page.title), el("p", { class: "facts" }, facts.join(" · ")), this.field,
        el("button", { type: "button", class: "quiet", "aria-label": "keys", onclick: () => this.help.showModal() }, "?")),
      el("main", {},
        el("section", { class: "left" }, this.foundHost, this.listHost, page.more ? el("p", { class: "more" }, "More follows: ", el("code", {}, page.more)) : null),
        el("section", { class: "right" }, el("nav", { "aria-label": "views" }, [...this.tabs.values()]), this.factsHost,
          el("div", { class: "panes" }, this.treeHost, this.bytesHost, this.chartHost))),
      el("footer", {}, this.status), this.help,
    );
  }

  listRow(index) {
    const row = this.rows[index];
    const version = row.version === undefined ? "" : ` v${row.version}`;
    const more = [row.client, row.count === undefined ? "" : counted(row.count, "record"), ...(row.topics || []), row.note, row.file?.split("/").slice(-2).join("/")];
    const marks = [row.latency === undefined ? "" : seconds(row.latency), row.time && row.offset === undefined ? row.time.slice(11, 23) : ""];
    const arrow = { request: "→", response: "←" }[row.kind] || "";
    return el("div", { class: `row ${row.kind}${index === this.current ? " chosen" : ""}`, "data-row": index, role: "option", "aria-selected": String(index === this.current) },
      el("span", { class: "number" }, row.number === undefined ? number(row.position) : String(row.number)),
      el("span", { class: "what" },
        el("span", { class: "title" }, el("span", { class: "arrow", "aria-hidden": "true" }, arrow), row.kind === "request" || row.kind === "response" ? row.title.replace(` ${row.kind}`, version) : `${row.title}${version}`,
          row.guess ? el("span", { class: "chip" }, "guess") : null,
          row.odd ? el("span", { class: "chip warn" }, `⚠ ${row.odd}`) : null,
          (row.errors || []).map((error) => el("span", { class: "chip warn" }, error))),
        el("span", { class: "more-of" }, more.filter(Boolean).join(" · ") || row.kind)),
      el("span", { class: "side" }, el("span", {}, short(row.size)), el("span", {}, marks.filter(Boolean)[0] || "")));
  }

  fromAddress() {
    const wanted = /^#(\d+)$/.exec(location.hash);
    const index = wanted ? this.rows.findIndex((row) => String(row.number ?? row.position) === wanted[1]) : 0;
    return Math.max(index, 0);
  }

  go(index, shows = false) {
    if (index < 0 || index >= this.rows.length) return;
    if (index !== this.current) {
      const before = this.current;
      this.current = index;
      this.fields = this.peek(index);
      this.tree.show(this.fields);
      this.bytes.show(this.fields);
      this.list.again(before);
      this.list.again(index);
      this.list.see(index);
      this.about(this.rows[index]);
      this.tell(-1);
      if (this.view === "costs") this.look("costs");
    }
    const small = matchMedia("(max-width: 760px)").matches;
    if (shows && (this.view === "list" || this.view === "odd" || this.view === "time" || (small && this.view !== "bytes"))) this.look("fields");
    history.replaceState(null, "", `#${this.rows[index].number ?? this.rows[index].position}`);
  }

  about(row) {
    const way = row.src ? `${row.src} → ${row.dst}` : "";
    const pair = row.request === undefined ? null : this.link(`answers ${row.request}`, (each) => each.number === row.request && each.file === row.file);
    const isAnswer = (each) => each.request === row.number && each.file === row.file;
    const answer = row.kind === "request" ? this.rows.find(isAnswer) : null;
    const facts = [row.time, way, row.stream === undefined ? "" : `stream ${row.stream}`, row.client && `client ${row.client}`, row.producer && `producer ${row.producer}`, row.file,
      row.latency === undefined ? "" : `after ${seconds(row.latency)}`, counted(row.size, "byte")];
    this.factsHost.replaceChildren(el("strong", {}, `${row.number ?? `at ${row.position}`}  ${row.title}${row.version === undefined ? "" : ` v${row.version}`}`),
      ...facts.filter(Boolean).map((text) => el("span", {}, text)), ...[pair, answer && this.link(`answered by ${answer.number}`, isAnswer)].filter(Boolean));
  }

  link(text, isWanted) {
    const index = this.rows.findIndex(isWanted);
    return index < 0 ? el("span", {}, text) : el("button", { type: "button", class: "link", onclick: () => this.go(index) }, text);
  }

  look(view) {
    this.view = view;
    document.body.dataset.view = view;
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-pressed", String(name === view));
    if (view === "costs") this.chartHost.replaceChildren(...costsOf(this.fields, this.rows[this.current].title, (i) => this.jump(this.current, i)));
    else if (view === "time") this.chartHost.replaceChildren(...overTime(this.rows, this.page.kind, (index) => this.go(index, true)));
    else if (view === "odd") this.chartHost.replaceChildren(anomaliesOf(this.odd, this.rows, this.page.kind, (index) => this.toOdd(index)));
    else if (this.fields) {
      this.tree.rows.draw();
      this.bytes.rows.draw();
    }
    this.list.draw();
  }

  hover(i) {
    if (i === this.tree.lit && i === this.bytes.lit) return;
    this.tree.light(i);
    this.bytes.light(i);
    this.tell(i >= 0 ? i : this.tree.chosen);
  }

  pick(i) {
    if (i === undefined || i < 0) return;
    this.tree.choose(i);
    this.bytes.choose(i);
    this.tell(i);
  }

  pickByte(i, buffer, index) {
    if (i < 0) return;
    this.tree.choose(i);
    this.bytes.choose(i, false);
    this.tell(i, this.fields.buffers[buffer].at + index);
  }

  tell(i, offset) {
    const node = this.fields?.nodes[i];
    if (!node) {
      this.status.replaceChildren("Point at a field or a byte; ? lists the keys");
      return;
    }
    const size = node.end - node.start;
    const where = size ? `bytes ${node.start}–${node.end - 1} (${size}${node.value > node.start ? `, of them ${node.value - node.start} before the value` : ""})` : `byte ${node.start}`;
    this.status.replaceChildren(el("strong", {}, this.fields.path(i) || node.name), el("span", {}, this.fields.text(i)),
      ...[node.name.startsWith("(") ? node.name : "", node.kind, where, offset === undefined ? "" : `byte ${offset} (0x${offset.toString(16)})`].filter(Boolean).map((text) => el("span", { class: "dim" }, text)));
  }

  jump(row, node) {
    this.go(row, true);
    if (node >= 0) this.pick(node);
  }

  tellFound(found, done) {
    this.foundAt = -1;
    this.foundHost.hidden = !this.field.value.trim();
    const more = done ? (found.length >= MOST_FOUND ? "the first " : "") : "so far ";
    const shown = found.slice(0, 200).map((hit, index) => {
      const row = this.rows[hit.row];
      const fields = hit.node >= 0 ? this.peek(hit.row) : null;
      const place = fields ? fields.path(hit.node) || fields.nodes[hit.node].name : "";
      return el("button", { type: "button", class: "hit", "data-hit": index, onclick: () => this.toHit(index) },
        el("span", { class: "number" }, String(row.number ?? row.position)), el("span", { class: "place", title: place }, place.length > 36 ? `…${place.slice(-35)}` : place || row.title),
        el("span", { class: "said" }, hit.offset === undefined ? (fields ? fields.text(hit.node) : "") : `byte ${hit.offset}`));
    });
    this.foundHost.replaceChildren(el("p", { class: "count" }, `${more}${counted(found.length, "place")} found`), ...shown);
  }

  find() {
    clearTimeout(this.typing);
    this.typing = 0;
    this.search.start(this.field.value);
  }

  toHit(index) {
    const hit = this.search.found[index];
    if (!hit) return;
    this.foundHost.querySelector(".hit.chosen")?.classList.remove("chosen");
    const button = this.foundHost.querySelector(`[data-hit="${index}"]`);
    button?.classList.add("chosen");
    button?.scrollIntoView({ block: "nearest" });
    this.foundAt = index;
    this.jump(hit.row, hit.node);
  }

  toOdd(index) {
    const { row, anomaly } = this.odd[index];
    this.oddAt = index;
    this.go(row, true);
    this.jump(row, this.fields.ofAnomaly(anomaly));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (event.target === this.field) {
      if (event.key === "Enter" && this.typing) this.find();
      if (event.key === "Enter") this.toHit(this.foundAt < 0 ? 0 : Math.max(0, Math.min(this.search.found.length - 1, this.foundAt + (event.shiftKey ? -1 : 1))));
      else if (event.key === "Escape") {
        this.field.value = "";
        this.find();
        this.treeHost.focus();
      } else return;
      event.preventDefault();
      return;
    }
    const views = { 1: "fields", 2: "costs", 3: "time", 4: "odd" };
    if (event.key === "/") this.field.focus();
    else if (event.key === "?") this.help.showModal();
    else if (event.key === "n") this.go(this.current + 1);
    else if (event.key === "p") this.go(this.current - 1);
    else if (event.key === "]" && this.odd.length) this.toOdd(((this.oddAt ?? -1) + 1) % this.odd.length);
    else if (event.key === "[" && this.odd.length) this.toOdd(((this.oddAt ?? 0) - 1 + this.odd.length) % this.odd.length);
    else if (views[event.key] && !this.tabs.get(views[event.key]).hidden) this.look(views[event.key]);
    else return;
    event.preventDefault();
  }
}
