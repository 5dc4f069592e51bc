// Which line of a log stands in which row, where blocks of lines are folded away. Lines count from 1, rows from 0.

export class LogRows {
  constructor() {
    this.open = new Set(); // first lines of the folds that are open
    this.set(0, []);
  }

  /** `folds`: [[first, last]] in their order. Each has a row of its own, above its lines where it is open. */
  set(total, folds) {
    this.total = total;
    this.folds = folds.filter(([, last]) => last <= total);
    this.parts = []; // {row, first, last} of lines, {row, fold} of folds
    let [row, line] = [0, 1];
    const lines = (last) => {
      if (last < line) return;
      this.parts.push({ row, first: line, last });
      row += last - line + 1;
      line = last + 1;
    };
    for (const [first, last] of this.folds) {
      lines(first - 1);
      const isOpen = this.open.has(first);
      this.parts.push({ row, fold: { first, last, isOpen } });
      row += 1;
      if (isOpen) lines(last);
      line = last + 1;
    }
    lines(total);
    this.count = row;
  }

  toggle(first) {
    if (!this.open.delete(first)) this.open.add(first);
    this.set(this.total, this.folds);
  }
  /** So that `line` has a row. */
  unfold(line) {
    const fold = this.folds.find(([first, last]) => first <= line && line <= last);
    if (fold && !this.open.has(fold[0])) this.toggle(fold[0]);
  }

  /** The line in a row; of a fold its first. */
  lineAt(row) {
    const [item] = this.slice(Math.min(Math.max(0, row), this.count - 1), row + 1);
    return item?.line ?? item?.fold.first ?? this.total;
  }
  rowOf(line) {
    const part = this.parts.findLast((one) => (one.first ?? one.fold.first) <= line);
    return part ? part.row + (part.fold ? 0 : line - part.first) : 0;
  }
  /** [{line} | {fold}] of the rows from `from` on, before `to`. */
  slice(from, to) {
    const found = [];
    for (
      let at = Math.max(
        0,
        this.parts.findLastIndex((part) => part.row <= from),
      );
      at < this.parts.length && this.parts[at].row < to;
      at += 1
    ) {
      const { row, first, last, fold } = this.parts[at];
      if (fold) {
        if (row >= from) found.push({ fold });
        continue;
      }
      for (let line = first + Math.max(0, from - row); line <= last && row + line - first < to; line += 1)
        found.push({ line });
    }
    return found;
  }
}
