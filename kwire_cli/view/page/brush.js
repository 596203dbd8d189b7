// The brush over the axis: it chooses a window of time, which filters everything below; and the sentence about it.

/** What the brush leaves out, over any room that has the scale of the axis. */
function shade() {
  if (!state.window) return [];
  const [from, to] = state.window.map((at) => Math.min(1, Math.max(0, toX(at))));
  return [place(el("div.off"), 0, from), place(el("div.off"), to, 1), place(el("div.pick"), from, to)];
}

function drawBrush() {
  if ($("#axis").hidden) return;
  const brush = $("#brush");
  brush.replaceChildren(...shade(), ...state.marks.map((at) => place(el("div.mark"), toX(at))));
  brush.setAttribute("aria-valuemax", LENGTH.toFixed(1));
  brush.setAttribute("aria-valuenow", (state.window ? state.window[0] : 0).toFixed(1));
  const ends = state.window?.map((at) => clock(at)).join(" to ");
  brush.setAttribute("aria-valuetext", ends || "everything");
  for (const over of document.querySelectorAll(".over")) over.replaceChildren(...shade());
  say();
}

/** Calls, errors and the 99th percentile of what is looked at. */
function measured() {
  if (D.axis && !state.filter && !isPart()) {
    const [calls, errors, , , p99] = D.axis.total;
    return { calls, errors, p99: p99 === null ? null : p99 / 1e6 };
  }
  return {
    calls: chosen.filter((i) => REQUEST[i] !== null).length,
    errors: chosen.filter(isFailed).length,
    p99: quantile(takenBy(chosen), 0.99),
  };
}

/** Say under the axis what is in the window. */
function say() {
  const [from, to] = scope();
  const { calls, errors, p99 } = measured();
  const said = [el("b", span(to - from)), ` from ${clock(from)}`];
  if (COUNT) said.push(": ", el("b", plural(calls, "call")));
  if (p99 !== null) said.push(", p99 ", el("b", span(p99)));
  if (errors) said.push(", ", el("b.bad", plural(errors, "error")), ` (${commonErrors()})`);
  const here = (D.spans || []).filter((one) => one.from <= to && spanEnd(one) >= from);
  for (const [kind, word] of [
    ["rebalance", "rebalance"],
    ["transaction", "transaction"],
    ["broker", "broker stop"],
  ]) {
    const spans = here.filter((one) => one.kind === kind);
    const texts = new Set(spans.map((one) => (kind === "broker" ? `${one.subject} ${one.text}` : one.text)));
    if (spans.length) said.push(", ", el(kind === "broker" ? "b.bad" : "b", plural(spans.length, word)));
    if (spans.length && kind !== "transaction" && (isPart() || kind === "broker"))
      said.push(`: ${[...texts].join("; ")}`);
  }
  if (state.window) said.push(button("", "Zoom", zoomIn, { title: "Make the axis as wide as this (z)" }));
  if (isPart()) said.push(button("", "Clear", zoomOut, { title: "Everything (Escape)" }));
  $("#said").replaceChildren(...said);
  $("#legend").hidden = isPart();
}

function commonErrors() {
  const counts = new Map();
  for (const i of chosen) for (const error of ERRORS.read(i)) counts.set(error, (counts.get(error) || 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 2);
  return common.map(([error, count]) => `${error} ${count}`).join(", ");
}

/** Choose a window, none for null. @param {number | null} from @param {number} [to] */
function select(from, to = 0) {
  state.window =
    from === null ? null : [Math.max(state.from, Math.min(from, to)), Math.min(state.to, Math.max(from, to))];
  refresh();
}

function zoomIn() {
  if (!state.window) return;
  [state.from, state.to, state.window] = [...state.window, null];
  refresh(true);
}

function zoomOut() {
  [state.window, state.from, state.to] = [null, 0, LENGTH];
  refresh(true);
}

/** What there is at a moment of the axis. @param {number} at */
function tipAt(at) {
  const bin = Math.floor((at - bins.start) / bins.step);
  const lines = [el("div", el("b", clock(at)))];
  bins.series.forEach((one, n) => {
    if (!one.counts[bin]) return;
    const key = el("i.key");
    key.style.background = tone(n);
    lines.push(el("div", key, el("span", one.api || "others"), el("span", one.counts[bin])));
  });
  if (bins.p50[bin] !== null && bins.p50[bin] !== undefined) {
    lines.push(el("div", el("span", "p50, p99"), el("span", `${span(bins.p50[bin])}, ${span(bins.p99[bin])}`)));
  }
  if (bins.errors[bin]) lines.push(el("div.bad", el("span", "errors"), el("span", bins.errors[bin])));
  const near = (3 * (state.to - state.from)) / room.width;
  for (const one of D.spans || []) {
    if (at < one.from - near || at > spanEnd(one) + near) continue;
    lines.push(el(`div.why.${one.level}`, `${one.subject}: ${one.text}, ${span(spanEnd(one) - one.from)}`));
  }
  return el("div.tip", lines);
}

function listenToBrush() {
  const brush = $("#brush");
  const atX = (x) => state.from + Math.min(1, Math.max(0, (x - room.left) / room.width)) * (state.to - state.from);
  let start = null;
  let frame = 0;
  const leave = () => brush.querySelectorAll(".at, .tip").forEach((one) => one.remove());
  const hover = (event) => {
    leave();
    const at = atX(event.clientX);
    const tip = tipAt(at);
    brush.append(place(el("div.at"), toX(at)), tip);
    const x = toX(at) * room.width;
    const left = x + tip.offsetWidth > room.width - 20 ? x - tip.offsetWidth - 10 : x + 10;
    tip.style.left = `${Math.max(-room.left, left)}px`;
  };
  brush.addEventListener("pointerdown", (event) => {
    start = event.clientX;
    brush.setPointerCapture(event.pointerId);
  });
  brush.addEventListener("pointermove", (event) => {
    if (start === null) return hover(event);
    const [from, to] = [start, event.clientX];
    cancelAnimationFrame(frame);
    if (Math.abs(to - from) > 3) frame = requestAnimationFrame(() => select(atX(from), atX(to)));
  });
  brush.addEventListener("pointerup", (event) => {
    if (start !== null && Math.abs(event.clientX - start) <= 3) select(null);
    start = null;
  });
  brush.addEventListener("pointerleave", leave);
  brush.addEventListener("dblclick", zoomOut);
  brush.addEventListener("keydown", (event) => {
    const by = ((state.to - state.from) / 40) * (event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0);
    if (!by) return;
    event.preventDefault();
    const [from, to] = state.window || [state.from, state.from + (state.to - state.from) / 10];
    if (event.shiftKey) select(from, Math.max(from + Math.abs(by) / 4, to + by));
    else select(from + by, to + by);
  });
}
