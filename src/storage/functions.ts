import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";

/**
 * The database's functions and triggers: SQL files in `functions/`, one for each function, with the triggers that call it. What a
 * file says is what lives: it is applied again whenever its text has changed, and has to be written so that it can be.
 *
 * An older version must not put its functions in the place of newer ones. It stays away from a schema whose migrations it does
 * not know, so that a changed function comes with a migration that names it (`test/storage/schema.test.ts` asks for one).
 *
 * Tables, columns and functions keep their names, which older versions of the program know. Some say another word than the rest of
 * the code: `edge` is the CDN, `gathered` are small features, `bands` generalization levels, `runs` chunks of the vertices of
 * large shapes, and `crowds` tell the density of a layer.
 */

const folder = new URL("./functions/", import.meta.url);

export interface FunctionFile {
  /** `functions/SUBJECT/NAME.sql` */
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

export function functionFiles(): FunctionFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, folder), "utf8");
      return { name: `functions/${file}`, text, digest: createHash("md5").update(text).digest("hex") };
    });
}

/** Files whose text the database does not have. */
export async function changedFunctions(client: pg.ClientBase): Promise<FunctionFile[]> {
  const found = await client.query<{ found: boolean }>(
    "select to_regclass('mapwright.function_file') is not null as found",
  );
  if (!found.rows[0]?.found) return functionFiles();
  const rows = (
    await client.query<{ name: string; digest: string }>("select name, digest from mapwright.function_file")
  ).rows;
  const digests = new Map(rows.map(({ name, digest }) => [name, digest]));
  return functionFiles().filter(({ name, digest }) => digests.get(name) !== digest);
}

/**
 * Applies the files that have changed, all or none. The tables that they speak of must be there.
 * @returns their names
 * @throws Error that names the file
 */
export async function applyFunctions(client: pg.ClientBase): Promise<string[]> {
  const applied: string[] = [];
  await client.query("begin");
  try {
    await client.query(
      `create table if not exists function_file (
         name text primary key, digest text not null, applied_at timestamptz not null default now())`,
    );
    // Bodies may call what comes later.
    await client.query("set local check_function_bodies = off");
    for (let left = await changedFunctions(client); left.length > 0; ) {
      const early: { file: FunctionFile; error: unknown }[] = [];
      for (const file of left) {
        await client.query("savepoint file");
        try {
          await client.query(file.text);
        } catch (error) {
          if (!isUndefinedFunction(error)) throw failure(file, error);
          await client.query("rollback to savepoint file");
          early.push({ file, error });
          continue;
        }
        await client.query(
          `insert into function_file (name, digest) values ($1, $2)
           on conflict (name) do update set digest = excluded.digest, applied_at = now()`,
          [file.name, file.digest],
        );
        applied.push(file.name);
      }
      if (early.length === left.length) throw failure(early[0]!.file, early[0]!.error);
      left = early.map(({ file }) => file);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
  return applied;
}

/** Whether a function is missing that a body in standard SQL (`begin atomic`, `return`) calls: it is bound when it is made. */
const isUndefinedFunction = (error: unknown): boolean => (error as { code?: unknown }).code === "42883";

const failure = ({ name }: FunctionFile, error: unknown): Error =>
  new Error(`${name} failed: ${(error as Error).message}`, { cause: error });
