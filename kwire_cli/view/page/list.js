// A virtual list: rows of one height, of which at most one is opened. Rows are reused, and only get new texts.

class List {
  /** @param {any} holder @param {() => any} make @param {(row: any, index: number, isCurrent: boolean) => void} fill */
  constructor(holder, make, fill) {
    this.holder = holder;
    this.make = make;
    this.fill = fill;
    this.inner = el("div.inner");
    this.pool = [];
    this.size = 0;
    this.opened = -1;
    this.panel = null;
    this.extra = 0;
    this.current = -1;
    /** @type {number[] | null} */
    this.shown = null;
    this.high = parseFloat(color("row")) || 20;
    holder.append(this.inner);
    holder.addEventListener("scroll", () => this.paint(false), { passive: true });
    new ResizeObserver(() => this.paint(false)).observe(holder);
  }

  /** Open a panel below a row, or none. @param {number} index */
  open(index, panel) {
    this.panel?.remove();
    this.opened = index;
    this.panel = panel;
    if (panel) this.inner.append(panel);
    this.layout();
  }

  layout() {
    this.extra = this.panel ? this.panel.offsetHeight : 0;
    this.inner.style.height = `${this.size * this.high + this.extra}px`;
    if (this.panel) this.panel.style.top = `${(this.opened + 1) * this.high}px`;
    this.paint(true);
  }

  top(index) {
    return index * this.high + (this.panel && index > this.opened ? this.extra : 0);
  }

  /** @param {boolean} isAll */
  paint(isAll) {
    const { scrollTop, clientHeight } = this.holder;
    let first = Math.floor(scrollTop / this.high);
    if (this.panel && first > this.opened) {
      first = Math.max(this.opened, Math.floor((scrollTop - this.extra) / this.high));
    }
    first = Math.max(0, first - 4);
    const last = Math.min(this.size, first + Math.ceil(clientHeight / this.high) + 8);
    if (!isAll && this.shown && this.shown[0] === first && this.shown[1] === last) return;
    this.shown = [first, last];
    if (this.pool.length < last - first) for (const row of this.pool) row.at = -1;
    while (this.pool.length < last - first) {
      const row = this.make();
      row.at = -1;
      this.pool.push(row);
      this.inner.append(row);
    }
    const slots = this.pool.length;
    for (const row of this.pool) if (row.at < first || row.at >= last) row.hidden = true;
    for (let index = first; index < last; index++) {
      const row = this.pool[index % slots];
      if (isAll || row.at !== index || row.hidden) {
        row.at = index;
        this.fill(row, index, index === this.current);
        row.setAttribute("aria-rowindex", index + 2);
        row.style.top = `${this.top(index)}px`;
        row.hidden = false;
      }
    }
  }

  /** Scroll to a row, which is the current one then. @param {number} index @param {boolean} [isCentred] */
  reveal(index, isCentred) {
    this.current = index;
    const top = this.top(index);
    const { scrollTop, clientHeight } = this.holder;
    const below = this.high + (this.opened === index ? this.extra : 0);
    if (isCentred || top < scrollTop || top + below > scrollTop + clientHeight) {
      const before = isCentred ? clientHeight / 4 : top < scrollTop ? 0 : clientHeight - below;
      this.holder.scrollTop = Math.max(0, top - before);
    }
    this.paint(true);
  }

  move(by) {
    if (this.size) this.reveal(Math.min(this.size - 1, Math.max(0, this.current + by)));
  }
}

/** The list that keys move through, and the rows of it. @type {List | null} */
let list = null;
let order = [];

/** A table of a fixed head and scrolled rows, as screen readers know it; returns what holds the rows. */
function scrolled(view, label, head, size) {
  view.classList.add("full");
  const rows = el("div.rows", { tabindex: 0, role: "rowgroup", "aria-label": label });
  view.append(el("div.table", { role: "table", "aria-label": label, "aria-rowcount": size + 1 }, head, rows));
  head.style.paddingRight = `calc(var(--edge) + ${rows.offsetWidth - rows.clientWidth}px)`;
  if (!size) rows.append(el("p.empty", "No row matches. Escape clears the filter and the window."));
  return rows;
}
