// Findings: what was seen, what it means, what to do; evidence opens its frame. Beside them, who there is.

const SEVERITY = { error: "Error", warning: "Warning", info: "Note" };

function showFindings(view, answer) {
  const all = answer.rows.findings;
  const found = all.filter((one) => {
    const times = one.evidence.map((place) => moment(place.time));
    return !isPart() || !times.length || times.some(isInScope);
  });
  const nothing = all.length ? "No finding in this window." : "No finding: nothing that kwire knows is wrong here.";
  const cards = el("div.cards", found.length ? found.map(cardOf) : el("p.empty", nothing));
  const notes = answer.blocks.filter((block) => block.type === "note").map(blockOf);
  view.append(el(`div.findings.${COUNT ? "two" : ""}`, el("div", notes, cards), COUNT ? people() : null));
}

function cardOf(one) {
  const times = one.evidence.map((place) => moment(place.time)).filter((at) => at !== null);
  const evidence = one.evidence.slice(0, 8).map((place) => {
    const number =
      place.frame ??
      (place.line ? `line ${place.line}` : (place.offset ?? (place.packet ? `packet ${place.packet}` : "")));
    return el("span", link(place, `${place.what} ${number}`), el("span.dim", ` ${clock(moment(place.time))}`));
  });
  const rest = one.evidence.length - evidence.length;
  const part = (title, text) => (text ? el("div", el("h3", title), el("p", text)) : null);
  const [name, ...options] = (one.command || "").split(" ");
  const command = ["kwire", name, D.arguments, ...options].filter(Boolean).join(" ");
  const card = el("article.card", { tabindex: 0 }, [
    el(`div.sev.${one.severity}`, SEVERITY[one.severity]),
    el("div", [
      el("h2", one.text),
      el("div.sub", one.subject, " · ", el("span.mono", one.code)),
      el("div.two", part("What it means", one.meaning), part("What to do", one.advice)),
      el("div.proof", [
        el("div.ev", evidence, rest > 0 ? el("span.dim", `and ${rest} more`) : null),
        el("div.foot", [
          times.length && hasTime ? button("", "Show this time", () => around(times)) : null,
          one.command ? copier(command, () => command) : null,
          one.see.length ? el("span", one.see.join(", ")) : null,
        ]),
      ]),
    ]),
  ]);
  const mark = (isOn) => () => {
    state.marks = isOn ? times : [];
    drawBrush();
  };
  for (const event of ["pointerenter", "focusin"]) card.addEventListener(event, mark(true));
  for (const event of ["pointerleave", "focusout"]) card.addEventListener(event, mark(false));
  return card;
}

/** Choose the time around some moments. @param {number[]} times */
function around(times) {
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const edge = Math.max(LENGTH / 100, (to - from) * 0.1);
  select(Math.max(0, from - edge), Math.min(LENGTH, to + edge));
}

/** Brokers, clients, apis and errors in the window, each a filter. */
function people() {
  const lists = [
    ["Broker", "broker"],
    ["Client", "client_id"],
    ["Api", "api"],
    ["Error", "errors"],
  ];
  const title = isPart() || state.filter ? "In what is chosen" : "In the whole input";
  return el(
    "aside",
    { "aria-label": title },
    el("h2", title),
    lists.map(([name, key]) => countsOf(name, key)),
  );
}

/** @param {string} title @param {string} key */
function countsOf(title, key) {
  const isErrors = key === "errors";
  /** @type {Map<string, number[]>} */
  const all = new Map();
  for (const i of chosen) {
    const value = column(key).read(i);
    for (const word of isErrors ? value : [value]) (all.get(word) || all.set(word, []).get(word)).push(i);
  }
  if (!all.size) return null;
  const rows = [...all]
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, 12)
    .map(([word, rows]) => {
      const click = (event) => {
        event.preventDefault();
        state.tab = "frames";
        setFilter(`${key} == "${word.replace(/["\\]/g, "\\$&")}"`);
      };
      const name = el("a.cut", { href: "#tab=frames", title: word, click }, word || "(none)");
      const errors = rows.filter(isFailed).length;
      const p99 = span(quantile(takenBy(rows), 0.99)) || "–";
      const numbers = [
        [number(rows.length), "num"],
        [errors, `num.${errors ? "bad" : "dim"}`],
        [p99, "num"],
      ];
      return [name, ...(isErrors ? numbers.slice(0, 1) : numbers)];
    });
  const heads = [title, ["Calls", "num"], ["Errors", "num"], ["p99", "num"]];
  return grid(isErrors ? heads.slice(0, 2) : heads, rows);
}
