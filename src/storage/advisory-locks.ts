/**
 * SQL of the keys of PostgreSQL's advisory locks: all that the installation holds, so that no two are the same by chance
 * and who waits for whom can be found. Processes of several versions may run at once, so keys never change.
 */

/** Locks of work that one process of the installation does at a time. */
export const workLock = {
  migration: "hashtext('mapwright migrate')",
  pruning: "hashtext('mapwright prune')",
  removal: "hashtext('mapwright removal')",
  fileSweep: "hashtext('mapwright sweep files')",
  searchIndexes: "hashtext('mapwright search indexes')",
  importJobs: "hashtext('mapwright import jobs')",
  cdn: "hashtext('mapwright edge')",
  thinnings: "hashtext('mapwright thinnings')",
  backup: "hashtext('mapwright backup')",
  diskUse: "hashtext('mapwright disk use')",
} as const;

const keyOf = (what: string, placeholder: string): string =>
  `hashtextextended('mapwright ${what} ' || ${placeholder}::text, 0)`;

/** Lock of a layer that an import writes to: its columns do not change, and it gets no indexes. `layerId` is a placeholder. */
export const importLock = (layerId: string): string => keyOf("import", layerId);

/** Lock of a layer that is filled before it is shown: it is not removed with deleted layers. `layerId` is a placeholder. */
export const creationLock = (layerId: string): string => keyOf("create", layerId);

/** Lock of a staging table, as long as its import lives. `table` is a placeholder. */
export const stagingLock = (table: string): string => keyOf("staging", table);

/** Lock of a project that is being loaded with the server's own data. `what` is a placeholder. */
export const loadLock = (what: string): string => keyOf("load", what);

/** Lock of an Idempotency-Key of an account. Both parameters are placeholders. */
export const idempotencyLock = (accountId: string, key: string): string =>
  keyOf("key", `${accountId}::text || ' ' || ${key}`);
