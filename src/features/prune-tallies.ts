import type { Database } from "../storage/postgres.js";
import { compactTally } from "./visual-tally.js";

/** Rows of a tally that may wait for somebody who asks for it. */
const mostWaiting = 100_000;

/** One pass: puts together counts that nobody asks for, and deletes those of tallies that are gone. */
export async function pruneTallies(
  db: Pick<Database, "query" | "execute">,
  most: number = mostWaiting,
): Promise<void> {
  const rows = await db.query<{ id: number; kept: boolean }>(
    `select tally_id as id, t.id is not null as kept
     from (select tally_id, count(*) as n from visual_tally_count group by 1) c left join visual_tally t on t.id = tally_id
     where t.id is null or n > $1`,
    [most],
  );
  for (const { id, kept } of rows) {
    if (kept) await compactTally(db, id);
    else await db.execute("delete from visual_tally_count where tally_id = $1", [id]);
  }
}
