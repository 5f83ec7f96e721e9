import type pg from "pg";

/** Maximum number of prepared statements per connection; each takes some 50 kB on the server. */
const statementsPerConnection = 200;

/** Statements that connections have prepared, by names that are the same on all of them. */
export class PreparedStatements {
  private readonly names = new Map<string, string>();
  private count = 0;
  /** Names of the statements that a connection has prepared. */
  private readonly prepared = new WeakMap<pg.ClientBase, Set<string>>();

  /** Runs a statement on a connection, as a prepared statement if requested. */
  async run<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    prepare: boolean,
  ): Promise<Row[]> {
    if (!prepare) return (await client.query<Row>(text, values as unknown[])).rows;
    let name = this.names.get(text);
    if (name === undefined) {
      if (this.names.size >= 4 * statementsPerConnection) this.names.clear();
      name = `mw${++this.count}`;
      this.names.set(text, name);
    }
    let names = this.prepared.get(client);
    if (!names) {
      names = new Set();
      this.prepared.set(client, names);
    }
    if (!names.has(name)) {
      if (names.size >= statementsPerConnection) {
        await client.query("deallocate all");
        // pg caches the names of prepared statements and would not prepare them again.
        (client as unknown as { connection: { parsedStatements: object } }).connection.parsedStatements = {};
        names.clear();
      }
      names.add(name);
    }
    return (await client.query<Row>({ name, text, values: values as unknown[] })).rows;
  }
}
