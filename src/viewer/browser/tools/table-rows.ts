import type { LayerObjects, Selected, Sorting, TableRow } from "./layer-objects.js";

/** The rows of a table, read by pages as they are looked at. */

const pageRows = 100;
/** Pages that are kept; those not used for longest go first. */
const maxPages = 50;

export interface RowsEvents {
  /** Rows, or their number, are known now. */
  changed(): void;
  failed(error: unknown): void;
}

export class TableRows {
  /** How many there are; undefined = not known yet. */
  total: number | undefined;
  private readonly pages = new Map<number, readonly TableRow[]>();
  private readonly asked = new Map<number, AbortController>();
  private isClosed = false;

  constructor(
    private readonly objects: LayerObjects,
    readonly selected: Selected,
    readonly sort: Sorting | undefined,
    private readonly events: RowsEvents,
  ) {}

  /** The row, if it has been read. */
  at(index: number): TableRow | undefined {
    const page = this.pages.get(Math.floor(index / pageRows));
    return page?.[index % pageRows];
  }

  indexOf(id: number): number | undefined {
    for (const [page, rows] of this.pages) {
      const found = rows.findIndex((row) => row.id === id);
      if (found >= 0) return page * pageRows + found;
    }
    return undefined;
  }

  /** Reads what is missing of the rows from `first` to before `end`, and drops questions for others. */
  want(first: number, end: number): void {
    const from = Math.max(0, Math.floor(first / pageRows));
    const last = Math.floor(Math.max(0, Math.min(end, this.total ?? 1) - 1) / pageRows);
    for (const [page, { signal }] of this.asked) {
      if ((page < from || page > last) && !signal.aborted) this.drop(page);
    }
    for (let page = from; page <= last; page++) {
      const rows = this.pages.get(page);
      if (rows) {
        // To the end of those that are kept.
        this.pages.delete(page);
        this.pages.set(page, rows);
      } else if (!this.asked.has(page)) void this.read(page);
    }
  }

  close(): void {
    this.isClosed = true;
    for (const page of this.asked.keys()) this.drop(page);
  }

  private drop(page: number): void {
    this.asked.get(page)?.abort();
    this.asked.delete(page);
  }

  private async read(page: number): Promise<void> {
    const running = new AbortController();
    this.asked.set(page, running);
    const { sort, selected } = this;
    // In the order of ids a page goes on after the one before, which costs the server less than to skip objects.
    const after = sort ? undefined : this.pages.get(page - 1)?.at(-1)?.id;
    try {
      const { rows, total } = await this.objects.page({
        ...{ selected, sort, limit: pageRows, offset: page * pageRows, after, signal: running.signal },
        withCount: this.total === undefined,
      });
      if (this.isClosed || running.signal.aborted) return;
      this.total = total ?? this.total;
      this.pages.set(page, rows);
      for (const old of this.pages.keys()) {
        if (this.pages.size <= maxPages) break;
        this.pages.delete(old);
      }
      this.events.changed();
    } catch (error) {
      if (!running.signal.aborted && !this.isClosed) this.events.failed(error);
    } finally {
      if (this.asked.get(page) === running) this.asked.delete(page);
    }
  }
}
