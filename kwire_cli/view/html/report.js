// A page of blocks: facts, texts, tables that sort, charts, and the lines that a terminal would show.

function reportPage(page) {
  document.body.className = "report";
  document.body.append(el("header", {}, el("h1", {}, page.title)), el("main", {}, page.blocks.map(block)), el("footer", {}, page.by));
}

function block(found) {
  const made = {
    facts: () => el("dl", { class: "facts" }, found.facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "number" ? number(value) : value)))),
    text: () => el("p", {}, found.text),
    table: () => table(found),
    bars: () => bars(found.items, found.all, (value) => (found.unit === "ms" ? `${number(value)} ms` : counted(value, found.unit))),
    icicle: () => icicle(found.root),
    histogram: () => histogram(found.items, found.unit),
    ladder: () => ladder(found),
    lines: () => el("pre", { class: "lines" }, found.lines.map((line) => [...pieces(line), "\n"])),
  }[found.type]();
  return el("section", { class: `block of-${found.type}` }, found.title ? el("h2", {}, found.title) : null, found.note ? el("p", { class: "dim" }, found.note) : null, made);
}

function pieces(line) {
  const made = [];
  for (let at = 0; at < line.length; at += 2) made.push(line[at + 1] ? el("span", { class: `s-${line[at + 1]}` }, line[at]) : line[at]);
  return made;
}

function table({ columns, rows }) {
  const body = el("tbody");
  const value = (cell) => (Array.isArray(cell) ? cell[0] : cell?.spark ? Math.max(0, ...cell.spark) : cell?.bar ?? cell);
  const numeric = columns.map((_, i) => rows.some((row) => Array.isArray(row[i])));
  // On a narrow page each row is a card, where the name of a column stands before its cell.
  const cellOf = (cell, i) => {
    if (cell?.bar !== undefined) return el("td", { class: "bars" }, barOf(cell.bar));
    if (cell?.spark !== undefined) return el("td", { class: "spark-cell", "data-column": columns[i] || null }, sparkOf(cell.spark));
    return el("td", { class: numeric[i] ? "right" : i ? "" : "mono", "data-column": columns[i] || null }, Array.isArray(cell) ? cell[1] : cell ?? "");
  };
  const draw = (shown) => body.replaceChildren(...shown.map((row) => el("tr", { class: row[0] === "total" && "total" }, row.map(cellOf))));
  let by = -1;
  let down = true;
  const sort = (i, head) => {
    down = by === i ? !down : numeric[i];
    by = i;
    const least = numeric[i] ? -Infinity : "";
    const key = (row) => value(row[i]) || (value(row[i]) === 0 ? 0 : least);
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    const last = rows.filter((row) => row[0] === "total");
    for (const each of head.closest("tr").children) each.removeAttribute("aria-sort");
    head.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
    draw([...rows.filter((row) => row[0] !== "total").sort((a, b) => (down ? -order(a, b) : order(a, b))), ...last]);
  };
  const heads = columns.map((name, i) => {
    if (!name) return el("th");
    const head = el("button", { type: "button", class: "sort" }, name);
    head.addEventListener("click", () => sort(i, head));
    return el("th", { scope: "col", class: numeric[i] ? "right" : "" }, head);
  });
  draw(rows);
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body));
}
