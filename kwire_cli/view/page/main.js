// The shell: head, tabs, keys, theme.

/** Tabs by name: title, what draws it, how many there are, and the answer. @type {Map<string, any>} */
const VIEWS = new Map();
const DENSE = new Set(["frames", "sequence"]);
const tabs = new Map();
/** What the last drawing of the axis was for. */
let drawn = "";

function collectViews() {
  const answers = { ...D.answers };
  const add = (name, title, show, size) => VIEWS.set(name, { title, show, size });
  const of = (name, title, show, table) => {
    const answer = answers[name];
    delete answers[name];
    if (answer) add(name, title, (view) => show(view, answer), answer.rows[table]?.length ?? "");
  };
  of("findings", "Findings", showFindings, "findings");
  of("groups", "Groups", showGroups, "groups");
  of("transactions", "Transactions", showTransactions, "transactions");
  if (hasTime && COLUMNS.has("client_id")) add("sequence", "Sequence", showSequence, "");
  if (COUNT) add("frames", "Frames", showRows, number(COUNT));
  if (COUNT && R.values.asked_at) add("costs", "Costs", showCosts, "");
  for (const [name, answer] of Object.entries(answers)) {
    const title = name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll("-", " ");
    add(name, title, (view) => showAnswer(view, answer), "");
  }
}

/** Draw what has to be drawn anew. @param {boolean} [isAnew] whether the axis has changed */
function refresh(isAnew) {
  choose();
  const view = $("#view");
  for (const [name, tab] of tabs) {
    tab.setAttribute("aria-selected", String(name === state.tab));
    tab.tabIndex = name === state.tab ? 0 : -1;
  }
  $("#axis").classList.toggle("small", DENSE.has(state.tab));
  if (document.activeElement !== $("#filter")) $("#filter").value = state.filter;
  $("#search").hidden = !COUNT && !Object.keys(D.answers || {}).length;
  view.className = "";
  view.removeAttribute("style");
  view.setAttribute("aria-labelledby", `tab-${state.tab}`);
  if (state.tab !== "costs" || !view.querySelector(".costs")) view.replaceChildren();
  list = null;
  const now = `${DENSE.has(state.tab)} ${state.filter}`;
  if (isAnew || now !== drawn) draw();
  else drawBrush();
  drawn = now;
  VIEWS.get(state.tab)?.show(view);
  keep();
}

function openTab(name) {
  state.tab = name;
  refresh();
}

function head() {
  put($("#file"), D.title);
  const verdict = $("#verdict");
  put(verdict, D.verdict?.text || "");
  verdict.title = D.verdict?.text || "";
  verdict.classList.add(D.verdict?.level || "none");
  verdict.hidden = !D.verdict;
  const fact = (title, ...parts) => el("li", { title }, parts);
  const facts = [];
  if (D.start !== null && D.length !== null) {
    const day = new Date(D.start / 1000).toISOString().slice(0, 10);
    const zone = D.isLocal ? "" : " UTC";
    facts.push(
      fact(`Time of day${zone}`, el("b", day), ` ${clock(0, 0)} – ${clock(LENGTH, 0)}${zone}`),
      fact("", el("b", span(LENGTH))),
    );
  }
  const many = (names, word) =>
    names?.length && fact(names.join(", "), el("b", names.length), ` ${word}${names.length === 1 ? "" : "s"}`);
  $("#facts").append(...[...facts, many(D.brokers, "broker"), many(D.applications, "application")].filter(Boolean));
  $("#file").title = `Made by ${D.by}`;
  $("#left").hidden = !D.left;
  if (D.left)
    $("#left").append(
      `This page has ${D.left.text}. The rest: `,
      copier(D.left.command, () => D.left.command),
    );
}

function shell() {
  head();
  for (const [name, { title, size }] of VIEWS) {
    const about = { role: "tab", id: `tab-${name}`, "aria-controls": "view" };
    const tab = button("", [title, size === "" ? null : el("i", size)], () => openTab(name), about);
    tabs.set(name, tab);
    $("#tabs").append(tab);
  }
  const words = ["error", "latency > 100ms", "served > 50ms", "size > 10KiB"];
  for (const name of ["api", "client_id", "errors"]) {
    for (const word of new Set((R.words[name] || []).flat()))
      if (word) words.push(`${name} == ${/[^\w.:-]/.test(word) ? `"${word}"` : word}`);
  }
  if (COUNT) $("#words").append(...words.slice(0, 200).map((value) => el("option", { value })));
  else $("#filter").placeholder = "Filter  ( / )";
  let timer = 0;
  $("#filter").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => setFilter(event.target.value), 120);
  });
  $("#theme").addEventListener("click", () => theme());
  $("#keys").addEventListener("click", help);
  addEventListener("keydown", onKey);
  for (const event of ["hashchange", "popstate"]) addEventListener(event, () => (recall(), refresh(true)));
  let frame = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => refresh(true));
  });
}

function help() {
  const box = $("#help");
  if (box.open) box.close();
  else box.showModal();
}

/** Set the theme, or change to the other one. @param {string} [name] */
function theme(name) {
  const root = document.documentElement;
  const isChange = name === undefined;
  root.dataset.theme = name || (root.dataset.theme === "dark" ? "light" : "dark");
  if (isChange) refresh(true);
}

function nextError(by) {
  const failed = chosen.filter((i) => isFailed(i) || isSilent(i));
  if (!failed.length || !VIEWS.has("frames")) return;
  const now = failed.indexOf(state.open);
  const after = failed.findIndex((i) => i > (state.open ?? -1));
  const first = by > 0 ? Math.max(0, after) : failed.length - 1;
  const next = now >= 0 ? (now + by + failed.length) % failed.length : first;
  state.open = failed[next];
  openTab("frames");
}

function step(by) {
  if (list) {
    const isOpen = Boolean(list.panel);
    list.move(by);
    if (isOpen) openRow(order[list.current]);
    return;
  }
  /** @type {any[]} */
  const cards = [...document.querySelectorAll(".card")];
  const next = cards[Math.max(0, Math.min(cards.length - 1, cards.indexOf(document.activeElement) + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function leave() {
  if ($("#help").open) return;
  if (state.tab === "frames" && state.open !== null) return openRow(null);
  state.filter = "";
  zoomOut();
}

function enter() {
  const i = list ? order[list.current] : undefined;
  if (i === undefined) return;
  if (state.tab === "frames") openRow(state.open === i ? null : i);
  else goto(i);
}

function toFilter() {
  if (!DENSE.has(state.tab) && VIEWS.has("frames")) openTab("frames");
  $("#filter").focus();
  $("#filter").select();
}

function onKey(event) {
  const isTyping = event.target.matches("input[type=search]");
  if (isTyping && ["Escape", "Enter"].includes(event.key)) {
    event.target.blur();
    if (event.key === "Enter") $(".rows")?.focus();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const names = [...VIEWS.keys()];
  if ($("#tabs").contains(event.target) && /^Arrow(Left|Right)$/.test(event.key)) {
    const next = names[(names.indexOf(state.tab) + (event.key === "ArrowRight" ? 1 : names.length - 1)) % names.length];
    openTab(next);
    tabs.get(next).focus();
    return;
  }
  const isFree = list && !event.target.matches("button, a, input, #brush, .fields, .hex");
  /** @type {Record<string, () => void>} */
  const actions = {
    "/": toFilter,
    "?": help,
    Escape: leave,
    j: () => step(1),
    k: () => step(-1),
    e: () => nextError(1),
    E: () => nextError(-1),
    t: () => theme(),
    z: zoomIn,
  };
  if (isFree) Object.assign(actions, { ArrowDown: () => step(1), ArrowUp: () => step(-1), Enter: enter });
  const tab = names[Number(event.key) - 1];
  const action = tab ? () => openTab(tab) : actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

collectViews();
state.tab = VIEWS.has(D.tab) ? D.tab : [...VIEWS.keys()][0] || "";
const scheme = matchMedia("(prefers-color-scheme: dark)");
theme(scheme.matches ? "dark" : "light");
scheme.addEventListener("change", (event) => (theme(event.matches ? "dark" : "light"), refresh(true)));
recall();
shell();
listenToBrush();
refresh(true);
