// What is looked at: the tab, the window of time, the filter, the order; and the address, which keeps all of it.

const state = {
  tab: "",
  from: 0,
  to: LENGTH,
  window: null,
  filter: "",
  open: null,
  sort: "",
  isDown: false,
  columns: null,
  marks: [],
  path: [],
};
/** The time that is looked at: the window, or all of the axis. */
const scope = () => state.window || [state.from, state.to];
const isPart = () => Boolean(state.window) || state.from > 0 || state.to < LENGTH;
const isInScope = (at) => at === null || (at >= scope()[0] && at <= scope()[1]);

/** The rows that window and filter leave, in the order of time. @type {number[]} */
let chosen = [];

/** The test of the filter; all rows pass if it is not understood, which the page says. */
let passes = (_) => true;

/** What a filter by fields can not see: calls whose fields are not in the page, and the command that sees them. */
function missing() {
  if (!wantsFields) return "";
  if (!messages && R.values.asked_at) return ", reading fields …";
  const lacks = (frame, i, side) => frame !== null && detailAt(i, side) === null;
  const count = REQUEST.filter((one, i) => lacks(one, i, "asked_at") || lacks(RESPONSE[i], i, "answered_at")).length;
  const command = `kwire decode ${D.arguments} --filter '${state.filter.replace(/'/g, "'\\''")}'`;
  return count ? `; ${plural(count, "call")} without fields here: ${command}` : "";
}

function choose() {
  let wrong = "";
  [passes, wantsFields] = [() => true, false];
  try {
    passes = compile(state.filter);
  } catch (error) {
    wrong = String(error instanceof Error ? error.message : error);
  }
  $("#filter").classList.toggle("wrong", Boolean(wrong));
  $("#filter").title = wrong;
  const [from, to] = scope();
  const isWhole = !isPart();
  chosen = [];
  for (let i = 0; i < COUNT; i++) {
    const at = TIME[i];
    const isIn = isWhole || (at !== null && at + (LATENCY[i] || 0) >= from && at <= to);
    if (isIn && passes(i)) chosen.push(i);
  }
  const left = chosen.length === COUNT ? plural(COUNT, "row") : `${number(chosen.length)} of ${number(COUNT)}`;
  $("#count").hidden = !COUNT;
  put($("#count"), wrong || `${left}${missing()}`);
}

/** Write the view into the address. */
function keep() {
  const parts = [`tab=${encodeURIComponent(state.tab)}`];
  const pair = (ends) => ends.map((at) => at.toFixed(6)).join("-");
  if (state.from > 0 || state.to < LENGTH) parts.push(`axis=${pair([state.from, state.to])}`);
  if (state.window) parts.push(`window=${pair(state.window)}`);
  if (state.filter) parts.push(`filter=${encodeURIComponent(state.filter)}`);
  if (state.open !== null) parts.push(`row=${state.open}`);
  if (state.sort) parts.push(`sort=${state.sort}${state.isDown ? "-" : ""}`);
  if (state.columns) parts.push(`columns=${state.columns.join(",")}`);
  if (state.path.length) parts.push(`path=${state.path.map(encodeURIComponent).join("/")}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

/** Take the view from the address. */
function recall() {
  const said = new URLSearchParams(location.hash.slice(1).replace(/\+/g, "%2B"));
  const pair = (key) => {
    const [from, to] = (said.get(key) || "").split("-").map(Number);
    return from >= 0 && to > from ? [from, Math.min(to, LENGTH)] : null;
  };
  if (VIEWS.has(said.get("tab") || "")) state.tab = said.get("tab");
  [state.from, state.to] = pair("axis") || [0, LENGTH];
  state.window = pair("window");
  state.filter = said.get("filter") || "";
  const [, sort, down] = (said.get("sort") || "").match(/^(\w+)(-?)$/) || [];
  [state.sort, state.isDown] = COLUMNS.has(sort) ? [sort, Boolean(down)] : ["", false];
  const row = said.get("row") === null ? NaN : Number(said.get("row"));
  state.open = row >= 0 && row < COUNT ? row : null;
  const columns = (said.get("columns") || "").split(",").filter((name) => COLUMNS.has(name));
  state.columns = columns.length ? columns : null;
  state.path = (said.get("path") || "").split("/").filter(Boolean).map(decodeURIComponent);
}

function setFilter(text) {
  state.filter = text;
  refresh();
}

/** Show a row from anywhere: evidence of a finding, a bar of a group, an arrow. @param {number | null} i */
function goto(i) {
  if (i === null) return;
  history.pushState(null, "");
  state.open = i;
  state.tab = "frames";
  if (!chosen.includes(i)) [state.filter, state.window, state.from, state.to] = ["", null, 0, LENGTH];
  refresh(true);
}

/** A link to the row of a frame; text alone if the page does not have it. */
function link(place, text) {
  const frames = COLUMNS.has("stream") ? column("stream").raw : [];
  const i =
    rowOf(place.frame, place.capture) ??
    (place.frame ? null : place.stream === undefined ? null : frames.indexOf(place.stream));
  if (i === null || i < 0) return el("span", text);
  const click = (event) => {
    event.preventDefault();
    goto(i);
  };
  return el("a", { href: `#tab=frames&row=${i}`, click }, text);
}
