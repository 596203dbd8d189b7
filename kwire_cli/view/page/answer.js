// Answers of kwire's commands as they are: facts, tables that sort, charts, outlines and notes.

const LEVELS = { error: "bad", warning: "warn", info: "dim", good: "good" };
const levelOf = (level) => LEVELS[level] || "";

function showAnswer(view, answer) {
  const blocks = answer.blocks.map(blockOf).filter(Boolean);
  view.append(el("div.answer", blocks.length ? blocks : el("p.empty", "Nothing.")));
}

function blockOf(block) {
  const inside = BLOCKS[block.type](block);
  const note = block.note ? el("p.dim", block.note) : null;
  return el("section", block.title ? el("h2", block.title) : null, inside, note);
}

/** What draws the blocks of an answer by type. @type {Record<string, (block: any) => any>} */
const BLOCKS = {
  facts: ({ facts }) => el("dl.facts", ...facts.flatMap(([name, value]) => [el("dt", name), el("dd", value)])),
  note: ({ text, level }) => el(`p.${levelOf(level)}`, text),
  outline: ({ items }) => items.map(lineOf),
  picture: ({ svg, title }) => {
    const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    return el("div.wide", { tabindex: 0 }, el("img", { src: source, alt: `Ladder ${title}` }));
  },
  bars: barsOf,
  icicle: icicleOf,
  table: tableOf,
};

function lineOf([depth, text, more, level]) {
  return indent(el(`div.line.${levelOf(level)}`, text, more ? el("span.dim", `  ${more}`) : null), depth);
}

function barsOf(block) {
  const most = Math.max(1e-9, ...block.series.map((one) => one[1]));
  const text = (value) => (block.unit === "byte" ? bytes(value) : `${number(value)} ${block.unit}`);
  const rows = block.series.map(([name, value]) => {
    const part = block.whole ? share(value, block.whole) : "";
    return [name, [text(value), "num"], [part, "num.dim"], [barOf(value / most), "bar"]];
  });
  return grid(["", "", "", ""], rows);
}

const barOf = (part) => el("span.share", place(el("i"), 0, Math.min(1, part)));

/** A line of columns as high as the numbers. @param {(number | null)[]} numbers */
function sparkOf(numbers) {
  const most = Math.max(1e-9, ...numbers.map((one) => one || 0));
  const columns = numbers.map((one) => {
    const bar = el("i");
    bar.style.height = `${Math.ceil((100 * (one || 0)) / most)}%`;
    return bar;
  });
  return el("span.spark", { role: "img", "aria-label": numbers.map((one) => one ?? "–").join(", ") }, columns);
}

/** Rows of a table that filter and window leave: those with a time in it, and with all words of the filter. */
function leftRows(block) {
  const at = block.columns.findIndex((one) => one.kind === "instant");
  const last = block.total ? block.rows[block.rows.length - 1] : null;
  const words = COUNT ? [] : state.filter.toLowerCase().split(/\s+/);
  const textOfRow = (row) => JSON.stringify(row).toLowerCase();
  return block.rows.filter((row) => {
    if (row === last) return true;
    const time = at < 0 || !isPart() ? null : moment(String(row[at]).replace(" ", "T"));
    return isInScope(Number.isNaN(time) ? null : time) && words.every((word) => textOfRow(row).includes(word));
  });
}

const keyOf = (value) => (Array.isArray(value) ? value[0] : (value?.bar ?? value));

function tableOf(block) {
  const isNumber = block.columns.map((_, at) => block.rows.some((row) => Array.isArray(row[at])));
  const cell = (value, at) => {
    if (value?.bar !== undefined) return [barOf(value.bar), "bar"];
    if (value?.spark) return [sparkOf(value.spark), "bar"];
    return [Array.isArray(value) ? value[1] : value, isNumber[at] ? "num" : "text"];
  };
  const rows = leftRows(block);
  const holder = el("div");
  const fill = (by, isDown) => {
    const last = block.total ? rows[rows.length - 1] : null;
    const body = rows.filter((row) => row !== last);
    if (by >= 0) body.sort((a, b) => compare(keyOf(a[by]), keyOf(b[by]), isDown));
    const heads = block.columns.map((one, at) => {
      const text = `${one.title}${at === by ? (isDown ? " ↓" : " ↑") : ""}`;
      if (!text.trim()) return "";
      const sort = () => fill(at, at === by ? !isDown : isNumber[at]);
      return [button("", text, sort, { title: "Sort" }), isNumber[at] ? "num" : ""];
    });
    const shown = last ? [...body, last] : body;
    const made = grid(
      heads,
      shown.map((row) => row.map(cell)),
    );
    made.classList.toggle("total", Boolean(last));
    holder.replaceChildren(made);
  };
  fill(-1, false);
  return rows.length ? holder : el("p.dim", "No row in this window.");
}
