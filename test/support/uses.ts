import type { Database } from "../../src/storage/postgres.js";

/**
 * Changes methods of a database and of what its `for` gives from now on, as requests use it.
 * @param changed the methods in place of those of `db`
 * @returns a function that ends it for the database itself
 */
export function changeUses(db: Database, changed: (db: Database) => Partial<Database>): () => void {
  const own = db.for;
  const use = own.bind(db);
  const methods = changed(db);
  const before = Object.fromEntries(Object.keys(methods).map((name) => [name, db[name as keyof Database]]));
  Object.assign(db, methods, {
    for: (...args: Parameters<Database["for"]>) => {
      const used = use(...args);
      return Object.assign(used, changed(used));
    },
  });
  return () => Object.assign(db, before, { for: own });
}
