import pg from "pg";
import { readOnly, UnfitSession } from "./own-session.js";
import { anotherServerCode, takesNoWritesCodes } from "./transaction-settings.js";

/** A pooler has handed out a session of another server, or database, than the direct connection is to. */
export class AnotherServer extends UnfitSession {
  constructor() {
    super(
      "DATABASE_URL leads to another server, or another database, than MAPWRIGHT_DATABASE_DIRECT_URL",
      "Let both lead to the same database of the same server.",
    );
    this.name = "AnotherServer";
  }
}

/** What it means that `settingStatement` has failed. */
function settingFailed(error: Error): Error {
  const { code = "" } = error as { code?: string };
  const failure =
    code === anotherServerCode
      ? new AnotherServer()
      : takesNoWritesCodes.has(code)
        ? readOnly("DATABASE_URL")
        : undefined;
  if (!failure) return error;
  failure.cause = error;
  return failure;
}

/** What `pg` has beyond its types. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: object): void;
  bind(message: object): void;
  execute(message: object): void;
}
interface Internals {
  submit(connection: Connection): Error | null;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
}

const Base = pg.Query as unknown as new (
  config: object,
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => Internals;

/** A statement that is sent together with what sets its transaction, so in one round trip: both are one transaction. */
class SettingQuery extends Base {
  private isSetting = true;

  constructor(
    private readonly setting: string,
    text: string,
    values: readonly unknown[],
    callback: (error: Error | null, result: pg.QueryResult) => void,
  ) {
    // Two statements are one transaction only by the extended protocol.
    super({ text, values, queryMode: "extended" }, callback);
  }

  override submit(connection: Connection): Error | null {
    const { stream } = connection;
    stream.cork();
    try {
      connection.parse({ text: this.setting, name: "" });
      connection.bind({ portal: "", statement: "" });
      connection.execute({ portal: "", rows: 0 });
      return super.submit(connection);
    } finally {
      stream.uncork();
    }
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.isSetting) this.isSetting = false;
    else super.handleCommandComplete(message, connection);
  }

  override handleError(error: Error, connection: Connection): void {
    super.handleError(this.isSetting ? settingFailed(error) : error, connection);
  }
}

/** Runs a statement, outside of a transaction, with what `settingStatement` sets. */
export const runSetting = <Row extends object>(
  client: pg.ClientBase,
  setting: string,
  text: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> =>
  new Promise((resolve, reject) => {
    const query = new SettingQuery(setting, text, values, (error, result) => {
      if (error) reject(error);
      else resolve(result as pg.QueryResult<Row>);
    });
    client.query(query as unknown as pg.Submittable);
  });

/** Begins a transaction with what `settingStatement` sets, in one round trip. */
export const beginSetting = async (
  client: pg.ClientBase,
  setting: string,
  begin = "begin",
): Promise<void> => {
  try {
    await client.query(`${begin}; ${setting}`);
  } catch (error) {
    throw settingFailed(error as Error);
  }
};
