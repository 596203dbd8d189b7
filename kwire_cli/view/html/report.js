// A page of blocks: facts, texts, tables that sort, charts, and the lines that a terminal would show.

function reportPage(page) {
  document.body.className = "report";
  document.body.append(el("header", {}, el("h1", {}, page.title)), el("main", {}, page.blocks.map(block)), el("footer", {}, el("code", {}, page.command)));
}

function block(found) {
  const made = {
    facts: () => el("dl", { class: "facts" }, found.facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, typeof value === "number" ? number(value) : value)])),
    text: () => el("p", {}, found.text),
    table: () => table(found),
    bars: () => bars(found.items, found.all),
    icicle: () => icicle(found.root),
    histogram: () => histogram(found.items, found.unit),
    lines: () => el("pre", { class: "lines" }, found.lines.map((line) => [...pieces(line), "\n"])),
  }[found.type]();
  return el("section", { class: `block ${found.type}` }, found.title ? el("h2", {}, found.title) : null, found.note ? el("p", { class: "dim" }, found.note) : null, made);
}

function pieces(line) {
  const made = [];
  for (let at = 0; at < line.length; at += 2) made.push(line[at + 1] ? el("span", { class: `s-${line[at + 1]}` }, line[at]) : line[at]);
  return made;
}

function table({ columns, rows }) {
  const body = el("tbody");
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const draw = (shown) => body.replaceChildren(...shown.map((row) => el("tr", {}, row.map((cell, i) => el("td", { class: numeric[i] ? "right" : i ? "" : "mono" }, typeof cell === "number" ? number(cell) : cell ?? "")))));
  let by = -1;
  let down = true;
  const sort = (i, head) => {
    down = by === i ? !down : numeric[i];
    by = i;
    const value = (row) => row[i] ?? (numeric[i] ? -Infinity : "");
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
    for (const each of head.closest("tr").children) each.removeAttribute("aria-sort");
    head.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
    draw([...rows].sort((a, b) => (down ? -order(a, b) : order(a, b))));
  };
  const heads = columns.map((name, i) => {
    const head = el("button", { type: "button", class: "sort" }, name);
    head.addEventListener("click", () => sort(i, head));
    return el("th", { scope: "col", class: numeric[i] ? "right" : "" }, head);
  });
  draw(rows);
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body));
}
