import type { BadRow, FileLayer, ImportProgress } from "../../src/hosts/import-messages.js";
import { BadFeature, Refusal } from "./refusal.js";
import { RowEncoder } from "./rows.js";
import type { StagingTable } from "./staging.js";

/** Approximate size of a batch of rows. */
const batchBytes = 1024 ** 2;
/** Number of bad rows that are reported one by one; the others are counted. */
const reportedRows = 100;
/** Layers of a file that are described. */
const describedLayers = 1_000;

export interface SinkOptions {
  /** Whether all rows that cannot be imported are counted; else the import ends when there are many. */
  readonly partial: boolean;
  /** Names of the columns with coordinates, as the client gave them; undefined = they are found. */
  readonly coordinates?: readonly string[] | undefined;
  /** Called with every batch. */
  readonly tell: (progress: ImportProgress) => void;
}

/** Encoded rows of the same number of columns. */
interface Segment {
  readonly end: number;
  readonly columns: number;
}

/** Takes the features of a file from its reader and sends them to the staging table in batches. */
export class RowSink {
  private row = new RowEncoder();
  private segments: Segment[] = [];
  private count = 0;
  private columns = 0;
  private bad: (BadRow & Pick<BadFeature, "code">)[] = [];
  private badCount = 0;
  private readonly told = new Set<string>();
  /** What the file calls its data. */
  title: string | undefined;
  /** Names of the columns that places come from, of the first table without places of its own: [] = none. */
  coordinates: readonly string[] | undefined;
  /** Of the current file: what its texts were read in, and its layers, where it may have several. */
  encoding: string | undefined;
  private layers: FileLayer[] = [];
  /** State at the beginning of the current file. */
  private mark = { count: 0, bad: 0, badCount: 0, vertices: 0, across: 0 };

  constructor(
    private readonly staging: StagingTable,
    private readonly options: SinkOptions,
  ) {}

  /** As `SinkOptions.coordinates`. */
  get wantedCoordinates(): readonly string[] | undefined {
    return this.options.coordinates;
  }

  /** Features so far, bad ones included. */
  get rows(): number {
    return this.count;
  }

  /** The transform of the following geometries to EPSG:4326; undefined = they are in EPSG:4326. */
  set transform(transform: RowEncoder["transform"]) {
    this.row.transform = transform;
  }

  /** Adds a sentence on data that the import leaves out or changes, once. */
  note(sentence: string): void {
    this.told.add(sentence);
  }

  /** Whether `flush` should be called before the next feature. */
  get isFull(): boolean {
    return this.row.out.length >= batchBytes;
  }

  /**
   * Adds one feature. A feature for which `write` throws `BadFeature` is counted as a bad row.
   * @throws Refusal when there are too many bad rows
   */
  add(write: (row: RowEncoder) => void): void {
    const { row } = this;
    this.count++;
    const place = row.out.length;
    try {
      row.begin(this.count);
      write(row);
      row.end();
    } catch (error) {
      if (!(error instanceof BadFeature)) throw error;
      row.out.length = place;
      this.reject(error);
      return;
    }
    const columns = row.fields.count;
    if (columns > this.columns) {
      if (place > 0) this.segments.push({ end: place, columns: this.columns });
      this.columns = columns;
    }
  }

  /** Counts a feature that the reader could not even read. @throws Refusal when there are too many */
  reject(error: BadFeature): void {
    this.badCount++;
    if (this.bad.length < reportedRows)
      this.bad.push({ row: this.count, reason: `${error.message}.`, code: error.code });
    if (!this.options.partial && this.bad.length === reportedRows) this.refuseBad();
  }

  /** Sends what was added. */
  async flush(): Promise<void> {
    const { out } = this.row;
    let sent = 0;
    for (const { end, columns } of this.segments) {
      await this.staging.send(out.take(end - sent), columns);
      sent = end;
    }
    this.segments = [];
    if (out.length > 0) await this.staging.send(out.take(out.length), this.columns);
    this.options.tell({ rows: this.count });
  }

  /** A layer of the current file. */
  describe(layer: FileLayer): void {
    if (this.layers.length < describedLayers) this.layers.push(layer);
  }

  /** The layers of the current file, at its end. */
  described(): readonly FileLayer[] {
    const { encoding } = this;
    const own: FileLayer = { name: this.title ?? "", features: this.count - this.mark.count, isRead: true };
    const layers = this.layers.length > 0 ? this.layers : [own];
    return encoding === undefined ? layers : layers.map((layer) => ({ ...layer, encoding }));
  }

  /** Begins a file; its geometries are in EPSG:4326 until `transform` is set. */
  begin(transform: RowEncoder["transform"]): void {
    this.transform = transform;
    this.encoding = undefined;
    this.layers = [];
    const { count, badCount } = this;
    const { vertices, across } = this.row;
    this.mark = { count, bad: this.bad.length, badCount, vertices, across };
  }

  /** Forgets the features of the current file, for a reader that begins again. */
  async restart(): Promise<void> {
    await this.flush();
    await this.staging.finish();
    await this.staging.removeAfter(this.mark.count);
    this.count = this.mark.count;
    this.badCount = this.mark.badCount;
    this.bad.length = this.mark.bad;
    this.row.vertices = this.mark.vertices;
    this.row.across = this.mark.across;
  }

  async finish() {
    await this.flush();
    await this.staging.finish();
    const { row } = this;
    if (row.measures)
      this.note("Positions keep their heights; the numbers after them (measures) were left out.");
    if (row.across > 0)
      this.note(
        `Objects that cross the 180th meridian: ${row.across}. They are drawn across the whole world, unless they are cut there, as "ogr2ogr -wrapdateline" does.`,
      );
    if (this.count === 0 && this.badCount === 0) this.note("The file has no features.");
    if (this.wantedCoordinates && !this.coordinates && this.count + this.badCount > 0)
      throw new Refusal("invalid_value", "The file has places of its own, and none in columns.", {
        parameter: "coordinates",
      });
    return {
      // Later ones occur in bad rows only, and the staging table has no columns for them.
      fields: row.fields.result().slice(0, this.columns),
      rows: this.count,
      bad: { count: this.badCount, rows: this.bad },
      geometryKind: row.kind ?? ("Unknown" as const),
      vertices: row.vertices,
      notes: [...this.told],
      ...(this.coordinates && { coordinates: this.coordinates }),
    };
  }

  private refuseBad(): never {
    const { row, reason, code } = this.bad[0]!;
    throw new Refusal(code, `Feature ${row}: ${reason}`, {
      feature: row,
      rows: this.bad.map(({ row, reason }) => ({ row, reason })),
    });
  }
}
