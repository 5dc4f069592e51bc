// Maps log lines to rows when blocks of lines are folded. Lines count from 1, rows from 0.

export class LogRows {
  constructor() {
    this.open = new Set(); // first lines of open folds
    this.set(0, []);
  }

  /** `folds`: [[first, last]], sorted. Each has a row of its own, above its lines if it is open. */
  set(total, folds) {
    this.total = total;
    this.folds = folds.filter(([, last]) => last <= total);
    this.parts = []; // {row, first, last} for lines, {row, fold} for a fold
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
  /** Opens the fold that hides `line`. */
  unfold(line) {
    const fold = this.folds.find(([first, last]) => first <= line && line <= last);
    if (fold && !this.open.has(fold[0])) this.toggle(fold[0]);
  }

  /** The line in a row, or a fold's first line. */
  lineAt(row) {
    const [item] = this.slice(Math.min(Math.max(0, row), this.count - 1), row + 1);
    return item?.line ?? item?.fold.first ?? this.total;
  }
  rowOf(line) {
    const part = this.parts.findLast((one) => (one.first ?? one.fold.first) <= line);
    return part ? part.row + (part.fold ? 0 : line - part.first) : 0;
  }
  /** [{line} | {fold}] for the rows from `from` up to but without `to`. */
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
