// A table of any number of rows. The document contains only the visible ones.

import {h} from './format.js';

const OVERSCAN = 8;  // rows above and below

// Columns: {key, title, cell(row) → node or text, sort(row) → comparable, width, class, narrow: 'a' to 'd'}. The first
// column's cell is a link. `narrow` is the position in a narrow window, which shows only columns that have one.
// Columns of class `extra` are hidden if the width is not sufficient.
export class RowTable {
  // `version(row)`: a string of all that a row shows of other records; the row is rendered again when it changes.
  constructor({label, columns, sort, onSort, empty, version}) {
    Object.assign(this, {columns, sort, onSort, empty, version});
    this.rows = [];
    this.shown = new Map();  // id → {tr, row}
    this.current = 0;  // index of the row with the keyboard focus
    this.chosen = null;
    this.above = this.gap();
    this.below = this.gap();
    this.body = h('tbody', {role: 'rowgroup', onkeydown: (event) => this.onKey(event), onfocusin: (event) => this.onFocus(event),
                            onclick: (event) => this.onClick(event)},
                  this.above, this.below);
    this.heads = columns.map((column) => h('th', {role: 'columnheader', scope: 'col', class: column.class},
                                           h('button', {type: 'button', onclick: () => this.sortBy(column.key)}, column.title)));
    this.table = h('table', {role: 'table', 'aria-label': label},
                   h('colgroup', {}, columns.map((column) => this.col(column))),
                   h('thead', {role: 'rowgroup'}, h('tr', {role: 'row', 'aria-rowindex': 1}, this.heads)), this.body);
    this.emptyNote = h('p', {class: 'empty', hidden: true});
    this.element = h('div', {class: 'rows', onscroll: () => this.scheduleRender()}, this.table, this.emptyNote);
    new ResizeObserver(() => this.scheduleRender()).observe(this.element);
    this.showSort();
  }

  col({width, class: name}) {
    const col = h('col', {class: name});
    if (width) col.style.width = width;
    return col;
  }

  gap() { return h('tr', {class: 'gap', 'aria-hidden': 'true'}, h('td')); }

  get rowHeight() { return parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')); }

  // --- order

  sortBy(key) {
    const [column, descending] = this.sort.startsWith('-') ? [this.sort.slice(1), true] : [this.sort, false];
    this.onSort(column === key && !descending ? `-${key}` : key);
  }

  showSort() {
    this.heads.forEach((head, index) => {
      const key = this.columns[index].key;
      if (this.sort === key) head.setAttribute('aria-sort', 'ascending');
      else if (this.sort === `-${key}`) head.setAttribute('aria-sort', 'descending');
      else head.removeAttribute('aria-sort');
    });
  }

  // Shows these rows, sorted.
  show(rows, {sort = this.sort, chosen = this.chosen} = {}) {
    const keyboardAt = this.rows[this.current]?.id;
    if (sort !== this.sort) this.element.scrollTop = 0;
    Object.assign(this, {sort, chosen});
    this.showSort();
    this.rows = sorted(rows, this.columns, sort);
    if (keyboardAt !== this.rows[this.current]?.id) {
      this.current = Math.max(0, this.rows.findIndex((row) => row.id === keyboardAt));
    }
    this.table.setAttribute('aria-rowcount', this.rows.length + 1);
    this.emptyNote.hidden = this.rows.length > 0;
    this.emptyNote.textContent = this.rows.length > 0 ? '' : this.empty();
    this.render();
  }

  // --- visible rows

  scheduleRender() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.render();
    });
  }

  // The index of the first row that is visible as a whole.
  get firstVisible() { return Math.ceil(this.element.scrollTop / this.rowHeight); }

  range() {
    const height = this.rowHeight;
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - OVERSCAN);
    const visible = Math.ceil(this.element.clientHeight / height) + 2 * OVERSCAN;
    return [Math.min(first, Math.max(0, this.rows.length - visible)), Math.min(this.rows.length, first + visible)];
  }

  render() {
    const [first, last] = this.range();
    const height = this.rowHeight;
    this.above.firstChild.style.height = `${first * height}px`;
    this.below.firstChild.style.height = `${(this.rows.length - last) * height}px`;
    const wanted = new Map();
    for (let index = first; index < last; index += 1) wanted.set(this.rows[index].id, index);
    for (const [id, {tr}] of this.shown) {
      if (wanted.has(id)) continue;
      tr.remove();
      this.shown.delete(id);
    }
    let next = this.above.nextSibling;
    for (const [id, index] of wanted) {
      const tr = this.rowElement(this.rows[index], index);
      if (tr === next) next = next.nextSibling;
      else this.body.insertBefore(tr, next);
    }
  }

  rowElement(row, index) {
    let entry = this.shown.get(row.id);
    if (!entry) {
      entry = {tr: h('tr', {role: 'row'}), row: null};
      this.shown.set(row.id, entry);
    }
    const {tr} = entry;
    const version = this.version?.(row);
    if (entry.row !== row || entry.version !== version) this.fill(tr, row);
    Object.assign(entry, {row, version});
    tr.setAttribute('aria-rowindex', index + 2);
    tr.classList.toggle('chosen', row.id === this.chosen);
    const anchor = tr.querySelector('a');
    if (anchor) {
      anchor.tabIndex = index === this.current ? 0 : -1;
      if (row.id === this.chosen) anchor.setAttribute('aria-current', 'true');
      else anchor.removeAttribute('aria-current');
    }
    return tr;
  }

  // Keeps the cell with the link, which may have the focus.
  fill(tr, row) {
    this.columns.forEach((column, index) => {
      const content = column.cell(row);
      if (index === 0 && tr.firstChild) return;
      const narrow = column.narrow ? `narrow-${column.narrow}` : '';
      const cell = h('td', {role: 'cell', class: `${column.class ?? ''} ${narrow}`.trim()}, content);
      if (typeof content === 'string') cell.title = content;
      if (tr.children[index]) tr.children[index].replaceWith(cell);
      else tr.append(cell);
      if (index > 0) for (const anchor of cell.querySelectorAll('a')) anchor.tabIndex = -1;
    });
  }

  // A click anywhere in a row follows its link, unless it ends a selection of text.
  onClick(event) {
    const anchor = event.target.closest('tr')?.querySelector('a');
    if (!anchor || event.target.closest('a, button') || !getSelection().isCollapsed) return;
    anchor.focus({preventScroll: true});
    anchor.click();
  }

  // --- keyboard

  onFocus(event) {
    const tr = event.target.closest('tr');
    for (const [id, entry] of this.shown) {
      if (entry.tr === tr) this.moveTo(this.rows.findIndex((row) => row.id === id), false);
    }
  }

  // `from`: the index of the row that has the focus. If none has it: of the one before the first visible row.
  onKey(event, from = this.current) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 2);
    const last = this.rows.length - 1;
    const to = {ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page,
                Home: 0, End: last}[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.moveTo(Math.min(last, Math.max(0, to)), true);
  }

  moveTo(index, withFocus) {
    if (!this.rows[index]) return;
    this.current = index;
    if (withFocus) {
      const height = this.rowHeight;
      const head = this.table.tHead.offsetHeight > 2 ? this.table.tHead.offsetHeight : 0;
      const top = index * height;
      const space = this.element.clientHeight - head - height;
      this.element.scrollTop = Math.min(top, Math.max(this.element.scrollTop, top - space));
    }
    this.render();
    if (withFocus) this.shown.get(this.rows[index].id)?.tr.querySelector('a')?.focus({preventScroll: true});
  }
}

// Unknown values come last in both directions.
export function sorted(rows, columns, sort) {
  const direction = sort.startsWith('-') ? -1 : 1;
  const column = columns.find(({key}) => key === sort.replace(/^-/, '')) ?? columns[0];
  const keyed = rows.map((row) => [column.sort(row) ?? null, row]);
  keyed.sort(([a, one], [b, other]) => {
    if (a === b) return one.id < other.id ? -1 : 1;
    if (a === null || b === null) return a === null ? 1 : -1;
    return (a < b ? -1 : 1) * direction;
  });
  return keyed.map(([, row]) => row);
}
