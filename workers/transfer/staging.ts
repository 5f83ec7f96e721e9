import { once } from "node:events";
import pg from "pg";
import { type CopyStreamQuery, from as copyFrom } from "pg-copy-streams";

/** Signature, flags and extension length of PostgreSQL's binary COPY format, and the word that ends it. */
const header = Buffer.from("5047434f50590aff0d0a000000000000000000", "hex");
const trailer = Buffer.from("ffff", "hex");

/**
 * The staging table of one import: `row` (number of the feature from 1), `geom` (EPSG:4326), `nulls` (indexes of the
 * properties that the feature gives as null rather than not at all; -1 = the geometry), `texts` (indexes of properties
 * whose string could be JSON of another kind) and one text column `p<index>` a property. Properties that first come late in a file are added between two COPY commands.
 */
export class StagingTable {
  private columns = 0;
  private copy: CopyStreamQuery | undefined;

  private constructor(
    private readonly client: pg.Client,
    private readonly name: string,
  ) {}

  /** Connects and makes the table, empty. */
  static async create(databaseUrl: string, table: string): Promise<StagingTable> {
    if (!/^[a-z0-9_]{1,60}$/.test(table)) throw new Error("The staging table's name is not one of ours.");
    const client = new pg.Client({
      connectionString: databaseUrl,
      options: "-c search_path=mapwright,public -c statement_timeout=0",
      application_name: "mapwright transfer",
      connectionTimeoutMillis: 5_000,
    });
    // A connection that breaks also fails the command that runs on it.
    client.on("error", () => undefined);
    await client.connect();
    const staging = new StagingTable(client, `staging.${table}`);
    await staging.clear();
    return staging;
  }

  /** Back to an empty table without properties. */
  async clear(): Promise<void> {
    await this.client.query(`drop table if exists ${this.name}`);
    await this.client.query(
      `create unlogged table ${this.name} (row bigint not null, geom geometry, nulls smallint[], texts smallint[]) with (autovacuum_enabled = off)`,
    );
    this.columns = 0;
  }

  /** Sends rows that have `columns` properties each. */
  async send(rows: Buffer, columns: number): Promise<void> {
    if (columns > this.columns) {
      await this.finish();
      const added = Array.from(
        { length: columns - this.columns },
        (_, more) => `add p${this.columns + more} text`,
      );
      await this.client.query(`alter table ${this.name} ${added.join(", ")}`);
      this.columns = columns;
    }
    this.copy ??= await this.start();
    if (!this.copy.write(rows)) await this.settled("drain");
  }

  /** Ends the running COPY: what was sent is in the table. */
  async finish(): Promise<void> {
    if (!this.copy) return;
    this.copy.end(trailer);
    await this.settled("finish");
    this.copy = undefined;
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async start(): Promise<CopyStreamQuery> {
    const columns = [
      "row",
      "geom",
      "nulls",
      "texts",
      ...Array.from({ length: this.columns }, (_, index) => `p${index}`),
    ];
    const copy = this.client.query(
      copyFrom(`copy ${this.name} (${columns.join(", ")}) from stdin (format binary)`, {
        highWaterMark: 4 * 1024 ** 2,
      }),
    );
    // Kept for the one who waits next: an error between two writes is not lost.
    copy.on("error", () => undefined);
    copy.write(header);
    return copy;
  }

  private async settled(event: "drain" | "finish"): Promise<void> {
    if (this.copy?.errored) throw this.copy.errored;
    await once(this.copy!, event);
  }
}
