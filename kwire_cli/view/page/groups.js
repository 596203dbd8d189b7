// Groups and transactions: lanes on the scale of the axis. A group has a lane for each member and each partition; a
// partition is red where nobody had it. Transactions have a lane for each transactional id.

const MOST_PARTITIONS = 24;
const MOST_LANES = 40;
/** Colours of members. */
const TONES = ["produce", "fetch", "group", "txn", "other", "meta"];
const toneOf = (at) => `t-${TONES[at % TONES.length]}`;
/** Events after which a member of an eager group has no partitions. */
const GIVES_UP = new Set(["rejoin", "leave", "expired", "fenced", "removed"]);

function showGroups(view, answer) {
  const groups = answer.rows.groups.map((group) => groupOf(group, answer.rows));
  view.append(...groups, ...answer.blocks.filter((block) => block.type === "note").map(blockOf));
  drawBrush();
}

/** Who had which partitions, from when to when. */
function ownership(group, rows) {
  const of = (table) => rows[table].filter((one) => one.group === group.group);
  const events = of("events").map((one) => ({ ...one, at: moment(one.time) }));
  const isEager = group.protocol === "classic" && !/cooperative|stream/.test(group.assignor || "");
  const members = of("members").map((one) => {
    return { ...one, from: moment(one.joined ?? one.first) ?? 0, to: moment(one.ended) ?? LENGTH };
  });
  const owned = [];
  for (const member of members) {
    const given = of("assignments").filter((one) => one.member === member.member);
    const times = given.map((one) => moment(one.time));
    const ups = events.filter((one) => one.member === member.member && GIVES_UP.has(one.event));
    given.forEach((one, at) => {
      const after = ups.map((up) => up.at).filter((up) => up > times[at] && (isEager || up >= member.to));
      const to = Math.min(times[at + 1] ?? member.to, member.to, ...after);
      owned.push({ ...one, from: times[at], to, owner: member });
    });
  }
  return { members, owned, events };
}

/** Partitions by topic: orders-0, 1, 2; payments-0. @param {string[]} partitions */
function namesOf(partitions) {
  const topics = new Map();
  for (const one of partitions) {
    const [, topic, partition] = one.match(/^(.*)-(\d+)$/) || [null, one, ""];
    topics.set(topic, [...(topics.get(topic) || []), partition]);
  }
  return [...topics].map(([topic, all]) => `${topic}-${all.join(", ")}`).join("; ") || "no partition";
}

/** Add a bar on the scale of the axis; a click opens the frame that shows it. */
function addBar(inside, { from, to, frame, capture }, style, text, title) {
  const shares = sharesOf(from, to);
  if (!shares) return;
  const [left, right] = shares;
  const numbers = text.match(/\d+(, \d+)*$/)?.[0] ?? "";
  const fitting = [text, numbers].find((one) => one.length * 6.4 + 14 < (right - left) * room.width);
  const click = () => goto(rowOf(frame, capture));
  inside.append(place(button(`.own.${style}`, fitting ?? "", click, { title, "aria-label": title }), left, right));
}

/** The room of a lane, with the lines of the axis and of rebalances. */
function laneRoom(moves) {
  const lines = moves
    .filter((one) => one.at >= state.from && one.at <= state.to)
    .map((one) => place(el("div.reb"), toX(one.at)));
  return el("div.room", el("div.grid", gridLines()), lines);
}
const laneOf = (style, name, inside) => el(`div.lane.${style}`, el("span.name", { title: name }, name), inside);

function groupOf(group, rows) {
  const { members, owned, events } = ownership(group, rows);
  const clients = [...new Set(members.map((one) => one.client))];
  const moves = events.filter((one) => one.event === "rebalance");
  const facts = [
    [group.protocol, group.assignor].filter(Boolean).join(", "),
    plural(group.rebalances, "rebalance"),
    `${plural(clients.length, "client")}, ${plural(members.length, "member id")}`,
    group.coordinator ? `coordinator ${group.coordinator}` : "",
  ];
  const head = el("header", el("h2", group.group), ...facts.map((one) => el("span.dim", one)));
  const lanes = el("div.lanes-of", el("div.over"));
  if (D.length) {
    const missing = new Map();
    const partitions = [...new Set(owned.flatMap((one) => one.partitions))].sort(byName);
    clients.forEach((client, at) => lanes.append(memberLane(client, at, members, owned, events, moves)));
    for (const one of partitions.slice(0, MOST_PARTITIONS))
      lanes.append(partitionLane(one, owned, clients, members, moves, missing));
    const more = partitions.length - MOST_PARTITIONS;
    if (more > 0) lanes.append(laneOf("part", `and ${more} more`, ""));
    const [worst] = [...missing].sort((a, b) => b[1] - a[1]);
    const others = missing.size > 1 ? `, ${plural(missing.size - 1, "other")} for less` : "";
    if (worst) head.append(el("span.bad", `${worst[0]} assigned to nobody for ${span(worst[1])}${others}`));
  }
  return el("section.grp", { "aria-label": `Group ${group.group}` }, head, lanes, rebalanceTable(moves));
}

const isTrouble = ({ event, reason }) =>
  event !== "rebalance" && (event === "error" || event === "fenced" || /exceeded|expired/.test(reason || ""));

/** Who works and who waits. */
function memberLane(client, at, members, owned, events, moves) {
  const inside = laneRoom(moves);
  for (const member of members.filter((one) => one.client === client)) {
    const mine = owned.filter((one) => one.owner === member).sort((a, b) => a.from - b.from);
    let since = member.from;
    for (const one of [...mine, { from: member.to, to: member.to, partitions: null }]) {
      const waited = one.from - since;
      const title = `${client} waits for partitions, ${span(waited)}`;
      if (waited > 0.0005)
        addBar(inside, { ...one, from: since, to: one.from, frame: null }, "wait", `waits, ${span(waited)}`, title);
      if (one.partitions) {
        const text = namesOf(one.partitions);
        const about = `${client}: ${text}, generation ${one.generation}, ${span(one.to - one.from)}`;
        addBar(inside, one, one.partitions.length ? toneOf(at) : "wait", text, about);
      }
      since = one.to;
    }
  }
  for (const one of events.filter((event) => event.client === client && isTrouble(event))) {
    const title = `${one.event}: ${one.reason}`;
    const mark = button(".evt", "", () => goto(rowOf(one.frame, one.capture)), { title, "aria-label": title });
    if (one.at >= state.from && one.at <= state.to) inside.append(place(mark, toX(one.at)));
  }
  return laneOf("", client, inside);
}

/** Who has a partition, and when nobody has. */
function partitionLane(partition, owned, clients, members, moves, missing) {
  const inside = laneRoom(moves);
  const held = owned.filter((one) => one.partitions.includes(partition)).sort((a, b) => a.from - b.from);
  const last = Math.max(...members.map((one) => one.to));
  let since = held[0]?.from;
  for (const one of [...held, { from: last, to: last }]) {
    if (one.from - since > 0.0005) {
      missing.set(partition, (missing.get(partition) || 0) + one.from - since);
      const title = `nobody has ${partition} for ${span(one.from - since)}`;
      const shares = sharesOf(since, one.from);
      if (shares) inside.append(place(el("div.gapp", { title }), shares[0], shares[1]));
    }
    if (one.owner) {
      const title = `${partition}: ${one.owner.client}, ${span(one.to - one.from)}`;
      addBar(inside, one, toneOf(clients.indexOf(one.owner.client)), "", title);
    }
    since = Math.max(since, one.to);
  }
  return laneOf("part", partition, inside);
}

function rebalanceTable(moves) {
  const rows = moves
    .filter((one) => isInScope(one.at))
    .map((one) => {
      const why = `${one.client} ${one.reason || ""}`;
      const frame = link(one, `frame ${one.frame ?? ""}`);
      return [[clock(one.at), "nb"], [one.generation, "num"], [span(one.seconds), "num"], why, [frame, "num"]];
    });
  if (!rows.length) return el("p.dim", isPart() ? "No rebalance in this window." : "No rebalance.");
  return grid(["Ended", ["Generation", "num"], ["Took", "num"], "Because", ["Evidence", "num"]], rows);
}

function showTransactions(view, answer) {
  const rows = answer.rows.transactions.map((one) => {
    const id = one.transactionalId ?? `producer ${one.producerId}`;
    return { ...one, id, from: moment(one.begin) ?? 0, to: moment(one.end) ?? LENGTH };
  });
  const ids = [...new Set(rows.map((one) => one.id))];
  const lanes = el("div.lanes-of", el("div.over"));
  for (const id of ids.slice(0, MOST_LANES)) {
    const inside = laneRoom([]);
    for (const one of rows.filter((each) => each.id === id)) {
      const text = `${one.result}, ${span(one.to - one.from)}`;
      const style = `t-${one.result === "aborted" ? "bad" : "txn"}.${one.result}`;
      addBar(inside, one, style, text, `${id}: ${text}, ${namesOf(one.partitions)}`);
    }
    lanes.append(laneOf("", id, inside));
  }
  if (D.length) view.append(el("section.grp", lanes));
  showAnswer(view, answer);
  drawBrush();
}
