// The time axis: requests by api, what they took, errors, and spans of rebalances, transactions and stops.
// Counts and percentiles of the whole input come from kwire; for a filter or a part of the axis they are of the rows.

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400,
  86400,
];
const MOST_APIS = 6;
/** Lanes of spans; stops of brokers have a lane for each broker. */
const KINDS = { rebalance: "Rebalances", transaction: "Transactions", leader: "Leaders" };
/** The room of the axis in pixels. */
const room = { left: 0, width: 1 };
const toX = (at) => (at - state.from) / (state.to - state.from);
const spanEnd = (one) => (one.to === null ? LENGTH : one.to);
for (const one of D.spans || []) [one.from, one.to] = [one.from / 1e6, one.to === null ? null : one.to / 1e6];
let charts = [];
/** Intervals: their width, the first one's begin, requests by api, errors, percentiles. @type {any} */
let bins = null;

const emptyBins = (step, start, size) => ({
  step,
  start,
  size,
  apis: [],
  counts: [],
  errors: new Array(size).fill(0),
  bytes: new Array(size).fill(0),
  p50: new Array(size).fill(null),
  p99: new Array(size).fill(null),
});

/** The intervals that kwire counted. */
function countedBins() {
  const { width, first, apis, intervals } = D.axis;
  const made = emptyBins(width / 1e6, first / 1e6, intervals[intervals.length - 1][0] + 1);
  for (const [at, , errors, bytes, p50, p99] of intervals) {
    [made.errors[at], made.bytes[at]] = [errors, bytes];
    if (p50 !== null) [made.p50[at], made.p99[at]] = [p50 / 1e6, p99 / 1e6];
  }
  for (const [api, counts] of apis) addSeries(made, api, Object.entries(counts));
  return made;
}

/** @param {any} made @param {string} api */
function addSeries(made, api, counts) {
  const series = new Float64Array(made.size);
  for (const [at, count] of counts) series[at] += count;
  made.apis.push(api);
  made.counts.push(series);
}

/** Intervals of the rows that a filter leaves on a part of the axis. */
function ownBins() {
  const length = state.to - state.from;
  const step = STEPS.find((one) => length / one <= Math.max(40, room.width / 8)) || length / 100;
  const first = Math.floor(state.from / step);
  const made = emptyBins(step, first * step, Math.ceil(state.to / step) - first + 1);
  const taken = Array.from({ length: made.size }, () => []);
  const series = new Map();
  for (let i = 0; i < COUNT; i++) {
    const at = TIME[i] === null ? -1 : Math.floor(TIME[i] / step) - first;
    if (at < 0 || at >= made.size || !passes(i)) continue;
    const counts = series.get(API[i]) || new Float64Array(made.size);
    series.set(API[i], counts);
    counts[at]++;
    if (isFailed(i)) made.errors[at]++;
    made.bytes[at] += (R.values.request_size?.[i] || 0) + (R.values.response_size?.[i] || 0);
    taken[at].push(i);
  }
  taken.forEach((rows, at) => {
    const list = takenBy(rows);
    [made.p50[at], made.p99[at]] = [quantile(list, 0.5), quantile(list, 0.99)];
  });
  for (const [api, counts] of series) addSeries(made, APIS[api], [...counts.entries()]);
  return made;
}

/** Put the busiest apis first, and the others together. */
function ranked(made) {
  const total = (at) => made.counts[at].reduce((sum, one) => sum + one, 0);
  const totals = made.apis.map((_, at) => total(at));
  const ordered = [...totals.keys()].sort((a, b) => totals[b] - totals[a]);
  const rest = ordered.slice(MOST_APIS);
  const top = ordered.slice(0, MOST_APIS).map((at) => ({ api: made.apis[at], counts: made.counts[at] }));
  if (rest.length) {
    const counts = new Float64Array(made.size).map((_, bin) => rest.reduce((sum, at) => sum + made.counts[at][bin], 0));
    top.push({ api: "", counts });
  }
  return { ...made, series: top };
}

/** The colour of a series: its family's; the next apis of a family are lighter. @param {number} at */
function tone(at) {
  const name = familyOf(bins.series[at].api);
  const before = bins.series.slice(0, at).filter((one) => one.api && familyOf(one.api) === name).length;
  const part = bins.series[at].api ? [100, 66, 44, 30, 22, 16][before] : 30;
  return `color-mix(in srgb, ${color(name)} ${part}%, ${color("back")})`;
}

function draw() {
  const axis = $("#axis");
  axis.hidden = D.start === null || !D.length;
  if (axis.hidden) return;
  $("#requests").hidden = !hasTime && !D.axis;
  const plot = $("#requests .plot");
  const box = $("#scale").getBoundingClientRect();
  [room.left, room.width] = [box.left, box.width];
  const isWhole = D.axis && !state.filter && state.from === 0 && state.to === LENGTH;
  bins = ranked(isWhole ? countedBins() : ownBins());
  charts.forEach((chart) => chart.destroy());
  charts = [];
  if (!$("#requests").hidden) drawRequests(plot);
  if (!axis.classList.contains("small")) {
    drawTimes($("#latency .plot"));
    drawBytes($("#bytes .plot"));
  }
  drawSpans();
  drawScale();
  drawLegend();
  drawBrush();
}

/** Draw a chart without axes, on the scale of the page's one. The values are between two ends. */
function chart(plot, ends, series, values) {
  const none = { show: false };
  const scales = { x: { time: false, range: () => [state.from, state.to] }, y: { range: () => ends } };
  const size = { width: Math.round(room.width), height: plot.clientHeight, padding: [0, 0, 0, 0] };
  charts.push(new uPlot({ ...size, series, scales, cursor: none, legend: none, axes: [none, none] }, values, plot));
}

function drawRequests(plot) {
  const sum = new Float64Array(bins.size);
  const stacked = bins.series.map(({ counts }) => {
    counts.forEach((count, at) => (sum[at] += count));
    return Float64Array.from(sum);
  });
  const highest = Math.max(1, ...sum);
  const xs = Array.from(sum, (_, at) => bins.start + at * bins.step);
  const gap = room.width / ((state.to - state.from) / bins.step) > 4 ? 1 : 0;
  const paths = uPlot.paths.bars({ size: [1, 400], align: 1, gap });
  const fills = stacked.map((_, at) => ({ fill: tone(at), width: 0, paths, points: { show: false } }));
  const series = [{}, ...fills.reverse()];
  chart(plot, [0, highest * 1.08], series, [xs, ...stacked.reverse()]);
  drawTicks($("#requests"), [[highest, number(highest)]], (value) => 1 - value / (highest * 1.08));
  put($("#per"), bins.step === 1 ? "per second" : `per ${span(bins.step).replace(/\.0+(?= )/, "")}`);
}

function drawTimes(plot) {
  const all = [...bins.p50, ...bins.p99].filter((one) => one !== null);
  $("#latency").hidden = !all.length;
  if (!all.length) return;
  const low = Math.max(1e-5, Math.min(...all) / 1.5);
  const high = Math.max(...all, 1e-4) * 1.5;
  const line = (name, width) => ({
    stroke: color(name),
    width,
    points: { show: true, size: 4, fill: color(name), width: 0 },
  });
  const xs = bins.p50.map((_, at) => bins.start + (at + 0.5) * bins.step);
  const log = (value) => (value === null ? null : Math.log10(Math.max(value, low)));
  const ends = [Math.log10(low), Math.log10(high)];
  const series = [{}, line("faint", 1), line("accent", 1.5)];
  chart(plot, ends, series, [xs, bins.p50.map(log), bins.p99.map(log)]);
  const powers = [1e-4, 1e-3, 0.01, 0.1, 1, 10, 100].filter((one) => one > low * 1.3 && one < high / 1.3);
  const every = Math.ceil((powers.length * 13) / plot.clientHeight);
  const ticks = powers.filter((_, at) => (powers.length - 1 - at) % every === 0);
  const text = (one) => (one < 1 ? `${+(one * 1000).toFixed(1)} ms` : `${one} s`);
  const at = (value) => 1 - Math.log10(value / low) / Math.log10(high / low);
  const texts = ticks.map((one) => [one, text(one)]);
  drawTicks($("#latency"), texts, at);
}

function drawBytes(plot) {
  const highest = Math.max(...bins.bytes);
  $("#bytes").hidden = !highest;
  if (!highest) return;
  const xs = bins.bytes.map((_, at) => bins.start + at * bins.step);
  const paths = uPlot.paths.bars({ size: [1, 400], align: 1 });
  const bars = { fill: color("faint"), width: 0, paths, points: { show: false } };
  chart(plot, [0, highest * 1.08], [{}, bars], [xs, bins.bytes]);
  drawTicks($("#bytes"), [[highest, bytes(highest)]], (value) => 1 - value / (highest * 1.08));
}

function drawTicks(track, ticks, at) {
  track.querySelectorAll(".ytick").forEach((one) => one.remove());
  const plot = track.querySelector(".plot");
  for (const [value, text] of ticks) {
    const tick = el("span.ytick", text);
    tick.style.top = `${plot.offsetTop + at(value) * plot.clientHeight - 6}px`;
    track.append(tick);
  }
}

/** The shares of the axis that a span takes; null if it is elsewhere. */
function sharesOf(from, to) {
  return to < state.from || from > state.to ? null : [Math.max(0, toX(from)), Math.min(1, toX(to))];
}

/** A lane of spans; those on the same pixels are one. @param {string} name @param {any[]} spans [from, to, style] */
function lane(name, spans) {
  const inside = el("div.room");
  const shown = [];
  for (const [from, to, style] of spans.sort((a, b) => a[0] - b[0])) {
    const shares = sharesOf(from, to);
    if (!shares) continue;
    const [left, right] = shares;
    const last = shown[shown.length - 1];
    if (last && last[2] === style && left <= last[1] + 1 / room.width) last[1] = Math.max(last[1], right);
    else shown.push([left, right, style]);
  }
  inside.append(...shown.map(([left, right, style]) => place(el(`div.span.${style}`), left, right)));
  return el("div.lane", el("span.name", { title: name }, name), inside);
}

function drawSpans() {
  const errors = [];
  bins.errors.forEach((count, at) => {
    const middle = bins.start + (at + 0.5) * bins.step;
    if (count) errors.push([middle, middle, "error"]);
  });
  const lanes = errors.length ? [lane("Errors", errors)] : [];
  const named = new Map();
  for (const one of D.spans || []) {
    const name = KINDS[one.kind] || one.subject;
    named.set(name, [...(named.get(name) || []), [one.from, spanEnd(one), `${one.kind}.${one.level || "usual"}`]]);
  }
  for (const [name, spans] of named) lanes.push(lane(name, spans));
  $("#spans").replaceChildren(...lanes);
}

/** Times of day under the axis, on round ones, and the lines of the grid. */
function drawScale() {
  const step = STEPS.find((one) => (state.to - state.from) / one <= room.width / 110) || 86400;
  const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 3;
  const offset = (D.start / 1e6) % step;
  /** @type {any[]} */
  const marks = [];
  for (let at = Math.ceil((state.from + offset) / step) * step - offset; at <= state.to; at += step) {
    if (toX(at) > 0.03 && toX(at) < 0.97) marks.push([toX(at), clock(Math.max(0, at + 1e-7), digits)]);
  }
  $("#scale").replaceChildren(...marks.map(([left, text]) => place(el("span", text), left)));
  state.grid = marks.map(([left]) => left);
  for (const one of document.querySelectorAll("#tracks .grid")) one.replaceChildren(...gridLines());
}
const gridLines = () => (state.grid || []).map((left) => place(el("i"), left));

function drawLegend() {
  const keys = bins.series.map((one, at) => {
    const key = el("i.key");
    key.style.background = tone(at);
    if (!one.api) return el("span.dim", key, "others");
    const text = `api == ${one.api}`;
    return button("", [key, one.api], () => setFilter(state.filter === text ? "" : text), { title: `Only ${one.api}` });
  });
  const isSmall = $("#axis").classList.contains("small");
  const lines = ["p50", "p99"].map((name) => el("span.dim", el(`i.key.${name}`), name));
  $("#legend").replaceChildren(...keys, ...(isSmall || $("#latency").hidden ? [] : lines));
}
