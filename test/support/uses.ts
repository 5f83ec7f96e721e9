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

/**
 * The text of each statement that is sent to the database from now on, but for those by which the removal of what was deleted
 * looks for work by itself.
 * @param ended is given a function that ends it
 */
export function sentStatements(db: Database, ended: (stop: () => void) => void): string[] {
  const statements: string[] = [];
  const stop = changeUses(db, (used) => {
    const query = used.query.bind(used);
    return {
      query: (text, ...rest) => {
        if (!text.includes("project_id = 0")) statements.push(text);
        return query(text, ...rest);
      },
    };
  });
  ended(stop);
  return statements;
}
