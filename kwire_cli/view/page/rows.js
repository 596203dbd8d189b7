// Frames: a dense row for each call, sorted, with the columns that are chosen; a row opens.

const STYLES = { duration: "num", bytes: "num", count: "num", id: "num" };
const styleOf = (one) => `c-${one.name}.${STYLES[one.type] || ""}`;
const RESTING = new Set(["frame", "time"]);

/** Columns that are left out if there is little room, unless a person chose the columns. */
const FOR_WIDE = new Set(["broker", "request_size", "response_size"]);

/** The columns that are shown. */
function shownColumns() {
  const isShown = (one) => one.is_shown && (innerWidth > 1180 || !FOR_WIDE.has(one.name));
  return [...COLUMNS.values()].filter((one) => (state.columns ? state.columns.includes(one.name) : isShown(one)));
}

/** The least and the most pixels of a column: the room of its longest text, within bounds. */
function roomOf(one) {
  if (one.type === "time") return [108, 108];
  const words = R.words[one.name];
  const texts = words ? words.slice(0, 2000).map(String) : [one.text(COUNT - 1), one.text(COUNT >> 1)];
  const longest = Math.max(0, ...texts.map((text) => text.length));
  const pixels = Math.round(Math.max(one.title.length * 7 + 16, longest * 7.6 + (one.name === "api" ? 40 : 8)));
  if (one.name === "errors") return [Math.min(pixels, 280), 0];
  if (one.name === "what") return [80, 0];
  return words ? [Math.min(pixels, 64), Math.min(pixels, 190)] : [Math.min(pixels, 96), Math.min(pixels, 96)];
}

function sorted() {
  const one = COLUMNS.get(state.sort);
  if (!one) return state.isDown ? [...chosen].reverse() : chosen;
  const keys = new Map(chosen.map((i) => [i, R.words[one.name] ? one.text(i) : one.read(i)]));
  return [...chosen].sort((a, b) => compare(keys.get(a), keys.get(b), state.isDown) || a - b);
}

function makeRow(columns) {
  const cells = columns.map((one) => {
    const inside = one.name === "api" ? [el("i.key"), el("span"), el("span.v")] : [];
    return el(`span.${styleOf(one)}`, { role: "cell" }, inside);
  });
  return el("div.row.frames", { role: "row" }, cells);
}

/** @param {any} row @param {any[]} columns @param {number} i @param {boolean} isCurrent */
function fillRow(row, columns, i, isCurrent) {
  const style = `row frames t-${FAMILY[API[i]]}${isFailed(i) ? " fail" : ""}${isCurrent ? " on" : ""}`;
  if (row.className !== style) row.className = style;
  columns.forEach((one, at) => {
    const cell = row.children[at];
    if (one.name === "api") {
      put(cell.children[1], one.text(i));
      const version = column("api_version").text(i);
      put(cell.children[2], version === "" ? "" : `v${version}`);
    } else if (one.name === "served_us") {
      put(cell, isSilent(i) ? "no answer" : one.text(i));
      cell.className = `c-served_us num ${isSlow(i) ? "warn" : WAITS[i] ? "dim" : ""}`;
    } else put(cell, one.text(i));
  });
}

function showRows(view) {
  const columns = shownColumns();
  const rooms = columns.map(roomOf);
  const tracks = rooms.map(([least, most]) => `minmax(${least}px, ${most ? `${most}px` : "1fr"})`);
  if (columns[columns.length - 1]?.name !== "errors") tracks.push("64px");
  view.style.setProperty("--columns", tracks.join(" "));
  const least = rooms.reduce((sum, one) => sum + one[0] + 12, 32);
  view.style.setProperty("--least", `${isPhone() ? 0 : least}px`);
  const heads = columns.map((one) => {
    const isSorted = state.sort === one.name;
    const text = `${one.title}${isSorted ? (state.isDown ? " ↓" : " ↑") : ""}`;
    const more = { title: `Sort by ${one.title.toLowerCase()}` };
    const direction = state.isDown ? "descending" : "ascending";
    const about = { role: "columnheader", "aria-sort": isSorted ? direction : null };
    return el(`span.${styleOf(one)}`, about, [button("", text, () => sortBy(one), more)]);
  });
  const head = el("div.thead.frames", { role: "row" }, heads);
  const holder = scrolled(view, "Calls", head, chosen.length);
  order = sorted();
  list = new List(
    holder,
    () => makeRow(columns),
    (row, index, isCurrent) => fillRow(row, columns, order[index], isCurrent),
  );
  list.size = order.length;
  list.layout();
  holder.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row && !String(getSelection())) openRow(state.open === order[row.at] ? null : order[row.at]);
  });
  view.append(columnChooser());
  if (state.open !== null) openRow(state.open, true);
}

/** The choice of columns, which opens at the right end of the head. */
function columnChooser() {
  const shown = new Set(shownColumns().map((one) => one.name));
  const box = el("div.choices", { hidden: "", role: "group", "aria-label": "Columns" });
  for (const one of COLUMNS.values()) {
    const change = (event) => {
      if (event.target.checked) shown.add(one.name);
      else shown.delete(one.name);
      state.columns = [...COLUMNS.keys()].filter((name) => shown.has(name));
      refresh();
      $(".choices").hidden = false;
    };
    box.append(
      el("label", el("input", { type: "checkbox", checked: shown.has(one.name) ? "" : null, change }), one.title),
    );
  }
  const toggle = button(".chooser", "Columns", () => (box.hidden = !box.hidden), { title: "Choose columns" });
  return el("div.columns", toggle, box);
}

function sortBy(one) {
  if (state.sort === one.name) state.isDown = !state.isDown;
  else [state.sort, state.isDown] = [one.name, Boolean(STYLES[one.type]) && !RESTING.has(one.name)];
  refresh();
}

/** Open a row, or none. @param {number | null} i @param {boolean} [isCentred] */
function openRow(i, isCentred) {
  state.open = i;
  const index = i === null ? -1 : order.indexOf(i);
  if (!list) return;
  list.open(index, i === null || index < 0 ? null : panelOf(i));
  if (index >= 0) list.reveal(index, isCentred);
  state.marks = i === null || TIME[i] === null ? [] : [TIME[i]];
  drawBrush();
  keep();
}
