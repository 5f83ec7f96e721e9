import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Statement } from "../src/features/sql.js";

/** PostgreSQL's own load generator: the least that a client can do for a statement. */

export interface PgbenchRequest {
  /** Folder of PostgreSQL's programs. */
  readonly programs: string;
  readonly databaseUrl: string;
  /** Connections, each of which runs one statement after the other. */
  readonly clients: number;
  readonly seconds: number;
  /** Arguments that `statementScripts` has made. */
  readonly scripts: readonly string[];
}

/**
 * Writes a script for each statement, of which every transaction picks one by chance. Values are variables, which
 * pgbench binds to the prepared statement as any other client does.
 * @param folder for the scripts
 * @param statements at most 128, with texts as their values
 */
export function statementScripts(folder: string, statements: readonly Statement[]): string[] {
  mkdirSync(folder, { recursive: true });
  return statements.flatMap(({ text, values }, index) => {
    const path = join(folder, `${index}.sql`);
    const name = (place: string | number) => `s${index}_${place}`;
    writeFileSync(path, `${text.replace(/\$(\d+)/g, (_, place: string) => `:${name(place)}`)};\n`);
    return ["-f", path, ...values.flatMap((value, at) => ["-D", `${name(at + 1)}=${value}`])];
  });
}

/** On a busy machine no statement may end within the second of a short look. */
const longestSeconds = 60;

/** @throws Error when a statement fails */
export async function pgbench(request: PgbenchRequest): Promise<{ readonly perSecond: number }> {
  const { username, password, hostname, port, pathname } = new URL(request.databaseUrl);
  const { stdout } = await promisify(execFile)(
    join(request.programs, "pgbench"),
    [
      ...["--no-vacuum", "--protocol=prepared", "--jobs=1"],
      ...[`--client=${request.clients}`, `--time=${request.seconds}`],
      ...request.scripts,
    ],
    {
      env: {
        ...process.env,
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: decodeURIComponent(username),
        PGPASSWORD: decodeURIComponent(password),
        PGDATABASE: pathname.slice(1),
        // As the product's sessions.
        PGOPTIONS: "-c search_path=mapwright,public -c jit=off -c timezone=UTC",
        LC_ALL: "C",
      },
    },
  );
  // The time that connecting takes is left out of it.
  const perSecond = Number(/^tps = ([\d.]+) /m.exec(stdout)?.[1]);
  const isTooShort = / actually processed: 0$/m.test(stdout) && request.seconds < longestSeconds;
  if (isTooShort) return pgbench({ ...request, seconds: request.seconds * 4 });
  if (!(perSecond > 0)) throw new Error(`pgbench did not tell how fast it was:\n${stdout}`);
  return { perSecond };
}
