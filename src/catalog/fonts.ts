import { failed } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import type { StoredFont } from "./state.js";

/** The fonts that the styles of a project may use. */

/** Bounds on the fonts of one project. The render host has the fonts of a map in memory. */
const maxFonts = 100;
const maxBytes = 32 * 1024 ** 2;

/**
 * Stores a font under its path, in place of the one that is there.
 * @throws Failure invalid_value when the project has more than it may have
 */
export async function saveFont(
  db: Database,
  projectId: number,
  { path, blob, digest, format, names, bytes }: StoredFont & { readonly path: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    // One after the other, so that they are counted.
    await tx.query("select from project where id = $1 for update", [projectId]);
    await tx.execute(
      `insert into font (project_id, path, blob, digest, format, names, bytes) values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (project_id, path) do update set blob = excluded.blob, digest = excluded.digest,
         format = excluded.format, names = excluded.names, bytes = excluded.bytes, changed_at = now()`,
      [projectId, path, blob, digest, format, names, bytes],
    );
    const [row] = await tx.query<{ count: number; bytes: number }>(
      "select count(*)::int as count, sum(bytes)::float8 as bytes from font where project_id = $1",
      [projectId],
    );
    if (row && (row.count > maxFonts || row.bytes > maxBytes))
      throw failed(
        "invalid_value",
        `A project has at most ${maxFonts} fonts of ${maxBytes / 1024 ** 2} MB together.`,
      );
  });
}

/** @returns whether there was such a font */
export async function deleteFont(db: Database, projectId: number, path: string): Promise<boolean> {
  const gone = await db.write<{ path: string }>(
    "delete from font where project_id = $1 and path = $2 returning path",
    [projectId, path],
  );
  return gone.length > 0;
}
