// Charts as inline SVG: bars, icicles, histograms, points over time. Each says in text what it shows, so that none needs its colours.

// The width of a letter of labels, about, in the units of a chart.
const LETTER = 6.6;

function barOf(part) {
  return svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 10 }), svg("rect", { class: "fill", width: (100 * part).toFixed(2), height: 10 }));
}

// A line of columns, one for each number, the largest one as high as the line; null has none, and 0 is a thin line.
function sparkOf(values) {
  const most = Math.max(0, ...values);
  const step = 100 / Math.max(values.length, 1);
  const name = `${values.length} steps, the largest ${number(most)}`;
  return svg("svg", { class: "spark", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": name }, svg("title", {}, name),
    values.map((value, i) => {
      if (value === null) return null;
      const tall = value > 0 ? Math.max((20 * value) / most, 2) : 0.5;
      return svg("rect", { class: "fill", x: (i * step).toFixed(2), y: (20 - tall).toFixed(2), width: (step * 0.9).toFixed(2), height: tall.toFixed(2) });
    }));
}

function bars(items, all, unit = (value) => counted(value, "byte")) {
  const most = Math.max(1, ...items.map((item) => item.value));
  const shown = items.map((item) => {
    const bar = barOf(Math.max(item.value, 0) / most);
    const name = item.pick ? el("button", { type: "button", class: "link", onclick: item.pick }, item.name) : item.name;
    return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "bars" }, bar), el("td", { class: "right" }, unit(item.value)),
      el("td", { class: "right dim" }, all ? share(item.value, all) : item.note || ""));
  });
  return el("table", { class: "chart-bars" }, el("tbody", {}, shown));
}

// What takes which part of the bytes: {name, value, title, children}, each level a row, each part as wide as it is big.
function icicle(root, pick) {
  const width = 960;
  const height = 24;
  const parts = [];
  let deepest = 0;
  const place = (item, depth, from, room, turn) => {
    if (room < 1.5 || depth > 11) return;
    deepest = Math.max(deepest, depth);
    parts.push({ item, depth, from, room, turn });
    let at = from;
    const children = item.children || [];
    // Colours begin where there are several parts to tell from each other.
    const parted = turn < 0 && children.filter((child) => child.value > root.value / 20).length > 1;
    children.forEach((child, i) => {
      const inner = item.value ? (room * child.value) / item.value : 0;
      place(child, depth + 1, at, inner, parted ? i % 6 : turn);
      at += inner;
    });
  };
  place(root, 0, 0, width, -1);
  const chart = svg("svg", { class: "icicle", viewBox: `0 0 ${width} ${(deepest + 1) * height}`, role: "img", "aria-label": `parts of ${root.name} by size` });
  for (const { item, depth, from, room, turn } of parts) {
    const letters = Math.floor((room - 8) / LETTER);
    const label = letters < 3 ? "" : item.name.length > letters ? `${item.name.slice(0, letters - 1)}…` : item.name;
    const group = svg("g", { class: `part t${turn}${pick && item.node !== undefined ? " pick" : ""}` },
      svg("title", {}, `${item.title || item.name}: ${counted(item.value, "byte")}, ${share(item.value, root.value)}`),
      svg("rect", { x: from.toFixed(2), y: depth * height, width: Math.max(room - 0.6, 0.6).toFixed(2), height: height - 1, rx: 2 }),
      label ? svg("text", { x: (from + 5).toFixed(2), y: depth * height + 16 }, label) : null);
    if (pick && item.node !== undefined) group.addEventListener("click", () => pick(item.node));
    chart.append(group);
  }
  return el("div", { class: "scroll" }, chart);
}

// How often there is which number: {name, value} in the order of the numbers. Columns if every label has room below its own, and the page is wide; else rows.
function histogram(items, unit) {
  const rows = bars(items, null, (value) => counted(value, unit.replace(/(?<=ch)es$|s$/, ""), unit));
  const width = 640;
  const height = 150;
  const most = Math.max(1, ...items.map((item) => item.value));
  const step = width / Math.max(items.length, 1);
  const longest = Math.max(0, ...items.flatMap((item) => [item.name.length, number(item.value).length]));
  if (longest * LETTER + 8 > step) return rows;
  const chart = svg("svg", { class: "histogram", viewBox: `0 0 ${width} ${height + 34}`, role: "img", "aria-label": `how many ${unit} there are of each` });
  items.forEach((item, i) => {
    const tall = (height * item.value) / most;
    const middle = i * step + step / 2;
    const wide = Math.min(step * 0.8, 72);
    chart.append(svg("g", {},
      svg("title", {}, `${item.name}: ${number(item.value)} ${unit}`),
      svg("rect", { class: "fill", x: (middle - wide / 2).toFixed(1), y: (height - tall + 14).toFixed(1), width: wide.toFixed(1), height: Math.max(tall, item.value ? 1 : 0).toFixed(1) }),
      svg("text", { class: "value", x: middle.toFixed(1), y: (height - tall + 10).toFixed(1) }, item.value ? number(item.value) : ""),
      svg("text", { class: "axis", x: middle.toFixed(1), y: height + 29 }, item.name)));
  });
  chart.append(svg("line", { class: "rule", x1: 0, x2: width, y1: height + 14.5, y2: height + 14.5 }));
  return el("div", {}, el("div", { class: "wide" }, chart), el("div", { class: "narrow" }, rows));
}

// Points over time: {at, value, name, look}, seconds and a number above 0 on a scale of powers of ten.
function points(items, unit, pick) {
  const width = 960;
  const height = 180;
  const left = 64;
  const times = items.map((item) => item.at);
  const first = Math.min(...times);
  const span = Math.max(Math.max(...times) - first, 1e-6);
  const logs = items.map((item) => Math.log10(item.value));
  const low = Math.floor(Math.min(...logs));
  const high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
  const x = (at) => left + ((width - left - 12) * (at - first)) / span;
  const y = (log) => 8 + (height - 32) * (1 - (log - low) / (high - low));
  const chart = svg("svg", { class: "points", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${items.length} points over ${seconds(span)}` });
  for (let power = low; power <= high; power++) {
    chart.append(svg("line", { class: "rule", x1: left, x2: width - 12, y1: y(power), y2: y(power) }),
      svg("text", { class: "axis end", x: left - 6, y: y(power) + 4 }, unit(10 ** power)));
  }
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    chart.append(svg("text", { class: `axis${part === 1 ? " end" : ""}`, x: x(first + part * span), y: height - 4 }, `+${seconds(part * span)}`));
  }
  items.forEach((item, i) => {
    const [across, down] = [x(item.at), y(logs[i])];
    const mark = item.look === "response"
      ? svg("circle", { cx: across.toFixed(1), cy: down.toFixed(1), r: 3.4 })
      : svg("rect", { x: (across - 3).toFixed(1), y: (down - 3).toFixed(1), width: 6, height: 6 });
    const group = svg("g", { class: `point ${item.look}${item.odd ? " odd" : ""}` }, svg("title", {}, `${item.name}: ${unit(item.value)}`), mark);
    group.addEventListener("click", () => pick(item.row));
    chart.append(group);
  });
  return el("div", { class: "scroll" }, chart);
}

// A ladder (sequence diagram): lines and texts with their places, as they stand in a picture of its own.
function ladder({ width, height, shapes }) {
  const chart = svg("svg", { class: "ladder", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "sequence of requests and responses" });
  for (const [kind, places, look, text, title] of shapes) {
    const [x, y, toX, toY] = places;
    chart.append(kind === "line"
      ? svg("line", { class: look, x1: x, y1: y, x2: toX, y2: toY })
      : svg("text", { class: look, x, y }, title ? svg("title", {}, title) : null, text));
  }
  return el("div", { class: "scroll" }, chart);
}
