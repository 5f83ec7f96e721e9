import { failed } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import type { StoredPicture } from "./state.js";

/** The pictures that the styles of a project may show. */

/** Pictures that one project may have. */
const maxPictures = 10_000;

export interface NewPicture extends StoredPicture {
  readonly path: string;
}

/**
 * Stores pictures under their paths, in place of those that are there.
 * @throws Failure invalid_value when the project has more than it may have
 */
export async function savePictures(
  db: Database,
  projectId: number,
  pictures: readonly NewPicture[],
): Promise<void> {
  await db.transaction(async (tx) => {
    // One after the other, so that they are counted.
    await tx.query("select from project where id = $1 for update", [projectId]);
    await tx.execute(
      `insert into picture (project_id, path, blob, digest, format, width, height, bytes)
       select $1, path, blob, digest, format, width, height, bytes
       from jsonb_to_recordset($2) as p (path text, blob uuid, digest text, format text, width double precision,
         height double precision, bytes bigint)
       on conflict (project_id, path) do update set blob = excluded.blob, digest = excluded.digest,
         format = excluded.format, width = excluded.width, height = excluded.height, bytes = excluded.bytes,
         changed_at = now()`,
      [projectId, JSON.stringify(pictures)],
    );
    const [row] = await tx.query<{ count: number }>(
      "select count(*)::int as count from picture where project_id = $1",
      [projectId],
    );
    if (row && row.count > maxPictures)
      throw failed("invalid_value", `A project has at most ${maxPictures} pictures.`);
  });
}

/** @returns whether there was such a picture */
export async function deletePicture(db: Database, projectId: number, path: string): Promise<boolean> {
  const gone = await db.write<{ path: string }>(
    "delete from picture where project_id = $1 and path = $2 returning path",
    [projectId, path],
  );
  return gone.length > 0;
}
