/**
 * A pooler hands out a session for a transaction, and takes it away with whatever was set in it. So what a statement needs is
 * set in its own transaction, together with the proof that the session is one of the server that tells this program of changes.
 */

export type TransactionSettings = Readonly<Record<string, string | number>>;

/**
 * SQL of which server and database a session has: no two servers have begun in the same microsecond. A server that was
 * restarted is another one, since everything that it knew of its sessions is gone.
 */
export const serverSql = "extract(epoch from pg_postmaster_start_time())::text || ' ' || current_database()";

/** SQLSTATE of `settingStatement` on another server: invalid_parameter_value. */
export const anotherServerCode = "22023";
/** On a standby, or where a session was left read-only: active_sql_transaction, read_only_sql_transaction, feature_not_supported. */
export const takesNoWritesCodes: ReadonlySet<string> = new Set(["25001", "25006", "0A000"]);

/** Setting of who does what a transaction does: triggers write it to the history. */
export const authorSetting = "mapwright.login";

const literal = (value: string | number): string => `'${String(value).replaceAll("'", "''")}'`;

/** A statement without a row that tells the rest of its transaction whose it is. */
export const authorStatement = (author: string): string =>
  `select where set_config(${literal(authorSetting)}, ${literal(author)}, true) is null`;

/**
 * A statement for the beginning of a transaction, or of statements that are sent together: it has no row, sets what is given
 * until the end of the transaction, and fails on a standby or another server than that.
 * @param server as `serverSql` has it; undefined = any that takes writes
 * @param isReadOnly the transaction takes no writes from then on
 */
export function settingStatement(
  settings: TransactionSettings,
  server: string | undefined,
  isReadOnly = false,
): string {
  // Only `set_config` is not worked out before it is known which case is so.
  const off =
    server === undefined
      ? "'off'"
      : `case when ${serverSql} = ${literal(server)} then 'off' else 'another server' end`;
  const set = (name: string, value: string) => `set_config(${literal(name)}, ${value}, true)`;
  const all = [
    set("transaction_read_only", off),
    ...Object.entries(settings).map(([name, value]) => set(name, literal(value))),
    ...(isReadOnly ? [set("transaction_read_only", "'on'")] : []),
  ];
  return `select where (${all.join(" || ")}) is null`;
}
