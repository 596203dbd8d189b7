// Sequence: who calls whom. The names of lanes stay on top; equal calls are one row until something happens.

/** Calls that change who has what; each has a row. */
const TURNS =
  /^(JoinGroup|LeaveGroup|InitProducerId|EndTxn|CreateTopics|DeleteTopics|Vote|BeginQuorumEpoch|AlterPartition|ElectLeaders|SaslHandshake)$/;

/** Rows of equal calls without errors, until something happens. */
function folded() {
  const rows = [];
  const open = new Map();
  for (const i of chosen) {
    const isLate = isSlow(i);
    const key = `${CLIENT.raw[i]},${BROKER.raw[i]},${API[i]}`;
    const same = open.get(key);
    if (isFailed(i) || isSilent(i) || isLate || TURNS.test(APIS[API[i]])) {
      open.clear();
      rows.push({ first: i, calls: [i], isLate });
    } else if (same) same.calls.push(i);
    else {
      const row = { first: i, calls: [i], isLate };
      open.set(key, row);
      rows.push(row);
    }
  }
  return rows;
}

/** A short name for a lane that has little room. @param {string} name */
const shortName = (name) => name.replace(/^(.)(.?).*?(\d*)$/, (_, a, b, digits) => a + (digits.slice(-2) || b));

function showSequence(view) {
  const rows = folded();
  const phone = isPhone();
  const seen = (of) => [...new Set(chosen.map((i) => of.read(i)))];
  const clients = seen(CLIENT);
  const brokers = seen(BROKER).sort(byName);
  const ends = [...clients.map((name) => `c${name}`), ...brokers.map((name) => `b${name}`)];
  const room = phone ? 120 : Math.max(320, view.clientWidth * 0.52);
  const wide = Math.max(Math.min(room, Math.max(2, ends.length) * 150), phone ? 0 : 34 * ends.length);
  const step = wide / Math.max(1, ends.length);
  view.style.setProperty("--lanes", `${wide}px`);
  view.style.setProperty("--lane", `${step - 6}px`);
  const x = new Map(ends.map((end, at) => [end, (at + 0.5) * step]));
  const px = (node, left, width = -1) => {
    node.style.left = `${left}px`;
    if (width >= 0) node.style.width = `${width}px`;
    return node;
  };
  const xOf = (end) => x.get(end) || 0;
  const isShort = phone || step < 50;
  const names = ends.map((end) => {
    const name = end.slice(1);
    const style = isShort ? "short" : step < 100 ? "tight" : "";
    return px(el(`span.lname.${style}`, { title: name }, isShort ? shortName(name) : name), xOf(end));
  });
  const title = (style, inside) => el(`span.${style}`, { role: "columnheader" }, inside);
  const many = `${plural(chosen.length, "call")} in ${plural(rows.length, "row")}`;
  const titles = [title("", "Time"), title("lanes", names), title("", many), title("num", "Latency")];
  const head = el("div.thead.seq", { role: "row" }, titles);
  const holder = scrolled(view, "Sequence of calls", head, rows.length);
  const cell = (style, ...inside) => el(`span.${style}`, { role: "cell" }, ...inside);
  const make = () => {
    const rails = ends.map((end) => px(el("i.rail"), xOf(end)));
    const text = cell("txt", el("span"), el("span.times"), el("span.bad"), el("span.dim"));
    const cells = [cell("dim"), cell("lanes", rails, el("i.arrow"), el("i.tipp")), text, cell("num")];
    return el("div.row.seq", { role: "row" }, cells);
  };
  const fill = (row, index, isCurrent) => {
    const { calls, first, isLate } = rows[index];
    const [time, lanes, text, taken] = row.children;
    const [name, times, error, what] = text.children;
    const [from, to] = [xOf(`c${CLIENT.read(first)}`), xOf(`b${BROKER.read(first)}`)];
    const [arrow, tip] = [lanes.children[ends.length], lanes.children[ends.length + 1]];
    const isBad = isFailed(first);
    row.className = `row seq t-${isBad ? "bad" : FAMILY[API[first]]}${isBad ? " fail" : ""}${isCurrent ? " on" : ""}`;
    put(time, clock(TIME[first], phone ? 0 : 4));
    put(name, APIS[API[first]]);
    const until = clock(TIME[calls[calls.length - 1]], phone ? 0 : 1);
    put(times, calls.length > 1 ? `× ${calls.length} until ${until}` : "");
    put(what, calls.length > 1 ? "" : column("what").text(first));
    put(error, isSilent(first) ? "no answer" : ERRORS.text(first));
    arrow.className = `arrow${isSilent(first) ? " open" : ""}`;
    px(arrow, Math.min(from, to), Math.abs(to - from));
    tip.className = `tipp ${to > from ? "r" : "l"}`;
    px(tip, to);
    taken.classList.toggle("warn", isLate);
    const latencies = calls.map((i) => LATENCY[i]).filter((one) => one !== null);
    put(taken, span(quantile(latencies, 0.5)));
  };
  order = rows.map((one) => one.first);
  list = new List(holder, make, fill);
  list.size = rows.length;
  list.layout();
  holder.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) goto(order[row.at]);
  });
}
