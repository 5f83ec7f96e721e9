import { once } from "node:events";
import { type CopyStreamQuery, from as copyFrom } from "pg-copy-streams";
import type { HostAddress } from "../../src/database-hosts.js";
import { connectFailed } from "../../src/storage/connection-errors.js";
import { HostConnection } from "../../src/storage/host-connection.js";

/** Header (signature, flags, extension length) and trailer of PostgreSQL's binary COPY format. */
const header = Buffer.from("5047434f50590aff0d0a000000000000000000", "hex");
const trailer = Buffer.from("ffff", "hex");

const options = {
  application: "mapwright transfer",
  settings: { search_path: "mapwright,public", statement_timeout: 0, idle_in_transaction_session_timeout: 0 },
} as const;

/**
 * The staging table of one import: `row` (number of the feature, from 1), `geom` (EPSG:4326), `nulls` (indexes of the
 * properties that are null in the feature, as opposed to absent; -1 = the geometry), `texts` (indexes of string properties
 * that would be another JSON value without their quotes) and one text column `p<index>` per property. Columns for
 * properties that occur later in the file are added between two COPY commands.
 */
export class StagingTable {
  private columns = 0;
  private copy: CopyStreamQuery | undefined;

  private constructor(
    private readonly connection: HostConnection,
    private readonly name: string,
  ) {}

  /** Connects and creates the empty table. @throws Failure busy when there is no connection */
  static async create(address: HostAddress, table: string): Promise<StagingTable> {
    if (!/^[a-z0-9_]{1,60}$/.test(table)) throw new Error("The name of the staging table is not valid.");
    const connection = await HostConnection.open(address, options).catch(connectFailed);
    const staging = new StagingTable(connection, `staging.${table}`);
    try {
      await connection.run(
        `create unlogged table ${staging.name} (row bigint not null, geom geometry, nulls smallint[], texts smallint[]) with (autovacuum_enabled = off)`,
      );
    } catch (error) {
      // The process goes on to other files.
      await staging.close().catch(() => undefined);
      throw error;
    }
    return staging;
  }

  /** Removes the rows with higher numbers. No COPY may be running. */
  async removeAfter(row: number): Promise<void> {
    if (row === 0) await this.connection.run(`truncate ${this.name}`);
    else await this.connection.run(`delete from ${this.name} where row > $1`, [row]);
  }

  /** Sends rows that have `columns` properties each. */
  async send(rows: Buffer, columns: number): Promise<void> {
    if (columns > this.columns) {
      await this.finish();
      const added = Array.from(
        { length: columns - this.columns },
        (_, more) => `add p${this.columns + more} text`,
      );
      await this.connection.run(`alter table ${this.name} ${added.join(", ")}`);
      this.columns = columns;
    }
    this.copy ??= await this.startCopy();
    if (!this.copy.write(rows)) await this.waitFor("drain");
  }

  /** Ends the running COPY, so that all rows are in the table. */
  async finish(): Promise<void> {
    if (!this.copy) return;
    this.copy.end(trailer);
    await this.waitFor("finish");
    this.copy = undefined;
    await this.connection.give();
  }

  async close(): Promise<void> {
    await this.connection.client.end();
  }

  private async startCopy(): Promise<CopyStreamQuery> {
    const columns = [
      "row",
      "geom",
      "nulls",
      "texts",
      ...Array.from({ length: this.columns }, (_, index) => `p${index}`),
    ];
    await this.connection.take();
    const copy = this.connection.client.query(
      copyFrom(`copy ${this.name} (${columns.join(", ")}) from stdin (format binary)`, {
        highWaterMark: 4 * 1024 ** 2,
      }),
    );
    // An error between two writes is thrown by the next `waitFor`.
    copy.on("error", () => undefined);
    copy.write(header);
    return copy;
  }

  private async waitFor(event: "drain" | "finish"): Promise<void> {
    if (this.copy?.errored) throw this.copy.errored;
    await once(this.copy!, event);
  }
}
