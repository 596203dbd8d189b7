// Elements, texts of numbers, and colours. What comes from the input reaches the page by textContent alone.

/** @param {string} selector @returns {any} */
const $ = (selector) => document.querySelector(selector);

/** Make an element: el("div.card", { title, click }, ...children). Attributes may be missing. @returns {any} */
function el(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.className = classes.join(" ");
  const first = parts[0];
  if (first && Object.getPrototypeOf(first) === Object.prototype) {
    parts.shift();
    for (const [key, value] of Object.entries(first)) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
    }
  }
  const children = parts.flat().filter((part) => part !== null && part !== undefined && part !== false);
  made.append(...children.map((part) => (part instanceof Node ? part : String(part))));
  return made;
}

/** Make a button. @param {string} style @param {any} text @param {(event: any) => void} click @param {object} [more] */
const button = (style, text, click, more) => el(`button${style}`, { type: "button", click, ...more }, text);

/** Set the text of a node that has text alone, without a new node. @param {any} node @param {string} text */
function put(node, text) {
  if (!node.firstChild) node.textContent = text;
  else if (node.firstChild.data !== text) node.firstChild.data = text;
}

/** Place a node in shares of its room's width. @param {any} node @param {number} left @param {number} [right] */
function place(node, left, right) {
  node.style.left = `${left * 100}%`;
  if (right !== undefined) node.style.width = `${Math.max(0, right - left) * 100}%`;
  return node;
}

/** Set how deep a line stands, up to six steps. @param {any} node @param {number} depth */
function indent(node, depth) {
  node.style.setProperty("--depth", Math.min(6, depth));
  return node;
}

/** A value of the style sheet. @param {string} name */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const number = (value) => value.toLocaleString("en");
const share = (part, whole) => `${((100 * part) / (whole || 1)).toFixed(1)} %`;

/** @param {number} count @param {string} word */
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : word.endsWith("ch") ? "es" : "s"}`;

/** A duration with three digits that count. @param {number | null | undefined} seconds */
function span(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const ms = seconds * 1000;
  if (Math.abs(ms) < 1) return `${Math.round(ms * 1000)} µs`;
  if (Math.abs(ms) < 1000) return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** @param {number | null} count */
function bytes(count) {
  if (count === null || count === undefined) return "";
  if (count < 10000) return `${number(count)} B`;
  return count < 1e7 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`;
}

/** The value at a share of numbers in order, the nearest rank. @param {number[]} numbers @param {number} part */
const quantile = (numbers, part) =>
  [...numbers].sort((a, b) => a - b)[Math.min(numbers.length - 1, Math.ceil(numbers.length * part) - 1)] ?? null;

const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });

/** Compare two values of a column; rows without a value come last. */
function compare(a, b, isDown) {
  const isEmpty = (value) => Number(value === null || value === undefined || value === "");
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
  return (a < b ? -1 : a > b ? 1 : 0) * (isDown ? -1 : 1);
}

/** A text that goes to the clipboard when its button is pressed. @param {string} text @param {() => any} make */
function copier(text, make) {
  const made = button("", text, async () => {
    await navigator.clipboard.writeText(await make());
    made.textContent = "Copied";
    setTimeout(() => (made.textContent = text), 1200);
  });
  return made;
}

/** A table: heads are texts, or [text, style]; rows are lists of cells, which may be [cell, style]. */
function grid(heads, rows) {
  const cell = (tag, one) =>
    Array.isArray(one) ? el(`${tag}.${one[1]}`, tag === "th" ? { scope: "col" } : {}, one[0]) : el(tag, {}, one);
  const body = rows.map((row) => el("tr", ...row.map((one) => cell("td", one))));
  return el(
    "div.wide",
    { tabindex: 0 },
    el("table", el("thead", el("tr", ...heads.map((one) => cell(one === "" ? "td" : "th", one)))), el("tbody", body)),
  );
}
