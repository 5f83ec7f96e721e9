import { Failure } from "../errors.js";
import type { BadRow } from "../hosts/import-messages.js";

/** Rows of a file that cannot be imported. */

/** Number of bad rows that are reported one by one; the others are counted. */
export const reportedRows = 100;

/** A bad row, and what the failure that names it has in `data`. */
export interface FoundRow extends BadRow {
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What users are told of rows that were left out. */
export interface RowReport {
  readonly count: number;
  /** The first of them, in the order of the file. */
  readonly rows: readonly { readonly row: number; readonly reason: string }[];
}

/** Collects bad rows from the checks of an import; each row is added by one check only. */
export class BadRows {
  private total: number;
  private first: readonly FoundRow[];

  constructor(found: { readonly count: number; readonly rows: readonly FoundRow[] }) {
    this.total = found.count;
    this.first = found.rows;
  }

  get count(): number {
    return this.total;
  }

  /** @param rows the first of them in the order of the file, `reportedRows` if there are more */
  add(count: number, rows: readonly FoundRow[]): void {
    this.total += count;
    this.first = [...this.first, ...rows].sort((one, other) => one.row - other.row).slice(0, reportedRows);
  }

  report(): RowReport {
    return { count: this.total, rows: this.first.map(({ row, reason }) => ({ row, reason })) };
  }

  /** The failure of an import that takes all rows or none: it names the first bad row and lists the others in `data.rows`. */
  failure(): Failure {
    const { row, reason, code, data } = this.first[0]!;
    const { count, rows } = this.report();
    return new Failure("execution", code, `Feature ${row}: ${reason}`, {
      ...data,
      feature: row,
      count,
      rows,
    });
  }
}
