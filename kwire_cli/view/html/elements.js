// What the page is made of: elements whose text is text, numbers for eyes, and lists of any length of which only what is seen is made.

const SVG = "http://www.w3.org/2000/svg";

function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  fill(made, properties, children);
  return made;
}

function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  fill(made, properties, children);
  return made;
}

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") made.append(child);
}

function readData(name) {
  const found = document.getElementById(name);
  return found ? JSON.parse(found.textContent) : null;
}

const whole = new Intl.NumberFormat("en-US");
const number = (value) => (Number.isInteger(value) ? whole.format(value) : String(value));
const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "");
const hexOffset = (value) => value.toString(16).padStart(8, "0");

function seconds(value) {
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return `${Number(value.toFixed(3))} s`;
  return size >= 0.001 ? `${Number((value * 1e3).toFixed(3))} ms` : `${Number((value * 1e6).toFixed(1))} µs`;
}

function short(value) {
  for (const [step, unit] of [[1 << 30, "GiB"], [1 << 20, "MiB"], [1 << 10, "KiB"]]) {
    if (value >= 10 * step) return `${Math.round(value / step)} ${unit}`;
    if (value >= step) return `${(value / step).toFixed(1)} ${unit}`;
  }
  return `${value} B`;
}

// A list that scrolls within its host: rows of one height, made when they come into sight. `make(index)` gives a row's element.
class Rows {
  constructor(host, make) {
    this.host = host;
    this.make = make;
    this.count = 0;
    this.made = new Map();
    this.space = el("div", { class: "space", role: "presentation" });
    host.append(this.space);
    host.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(host);
  }

  get height() {
    return (this.known ||= parseFloat(getComputedStyle(this.host).getPropertyValue("--row")) || 22);
  }

  reset(count) {
    this.count = count;
    this.known = 0;
    for (const row of this.made.values()) row.remove();
    this.made.clear();
    this.space.style.height = `${count * this.height}px`;
    this.draw();
  }

  again(index) {
    this.made.get(index)?.remove();
    this.made.delete(index);
    this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const above = 12;
    const first = Math.max(0, Math.floor(this.host.scrollTop / this.height) - above);
    const last = Math.min(this.count, Math.ceil((this.host.scrollTop + this.host.clientHeight) / this.height) + above);
    for (const [index, row] of this.made) {
      if (index < first || index >= last) {
        row.remove();
        this.made.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      if (this.made.has(index)) continue;
      const row = this.make(index);
      row.style.top = `${index * this.height}px`;
      this.made.set(index, row);
      this.space.append(row);
    }
  }

  see(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.host;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight) {
      this.host.scrollTop = Math.max(0, top - Math.max(0, clientHeight - this.height) / 3);
    }
    this.draw();
  }
}
