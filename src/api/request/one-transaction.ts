import { CatalogReader } from "../../catalog/catalog.js";
import { unkeptBoxes } from "../../features/layer-boxes.js";
import { VisualReader } from "../../features/visual-cache.js";
import type { Reply } from "../../http/types.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { Queryable } from "../../storage/postgres.js";
import { SingleTransaction } from "../../storage/single-transaction.js";
import type { Services } from "../services.js";

/** Requests whose writes are one transaction, with what it begins and ends with. */

export interface Framing {
  /** Runs at the beginning of the transaction, which fails with it. */
  readonly begin: (tx: Queryable) => Promise<void>;
  /** Whether it begins also for a handler that writes nothing. */
  readonly always: boolean;
  /** Runs before it is begun, and with it takes a slot and locks. */
  readonly before?: () => Promise<void>;
  /** Runs at its end. */
  readonly finish?: (tx: Queryable, reply: Reply) => Promise<void>;
  /** The answer in place of a failure; undefined = the failure. */
  readonly recover?: (failure: unknown, hasBegun: boolean) => Promise<Reply | undefined>;
}

/** Everything that the handler writes is one transaction, and its answer is made of what that reads. */
export async function inOneTransaction(
  services: Services,
  { begin, always, before, finish, recover }: Framing,
  handle: (services: Services) => Promise<Reply> | Reply,
): Promise<Reply> {
  const writing = new SingleTransaction(services.db, begin, before);
  const after: (() => Promise<void>)[] = [];
  let reply: Reply;
  try {
    reply = await handle(within(services, writing, after));
    if (always && !writing.hasBegun) await writing.execute("select");
    await writing.commit(async (tx) => finish?.(tx, reply));
  } catch (error) {
    const failure = await writing.undo(error);
    const instead = await recover?.(failure, writing.hasBegun);
    if (instead) return instead;
    throw failure;
  }
  if (writing.hasBegun) {
    await services.changes.propagate();
    for (const act of after) await act();
  }
  return reply;
}

/** Services for a handler whose writes are one transaction. What cannot be rolled back is deferred to `after`. */
function within(services: Services, db: SingleTransaction, after: (() => Promise<void>)[]): Services {
  const stored = services.blobs;
  const blobs: BlobStore = {
    put: (source, key) => stored.put(source, key),
    size: (key) => stored.size(key),
    read: (key, options) => stored.read(key, options),
    delete: async (key) => void after.push(() => stored.delete(key)),
    setAside: async (key) => void after.push(() => stored.setAside(key)),
    putBack: (key) => stored.putBack(key),
    deleteAside: (key) => stored.deleteAside(key),
    aside: (ageMs) => stored.aside(ageMs),
    olderThan: (ageMs) => stored.olderThan(ageMs),
    removeParts: (ageMs) => stored.removeParts(ageMs),
    mark: () => stored.mark(),
    setMark: (installation) => stored.setMark(installation),
    withLocalCopy: (key, use) => stored.withLocalCopy(key, use),
  };
  const search: Services["search"] = Object.create(services.search, {
    reconsider: { value: () => void after.push(async () => services.search.reconsider()) },
  });
  const fresh = new CatalogReader(db, services.config.idAlias);
  const visuals = new VisualReader(db);
  return {
    ...services,
    db,
    blobs,
    search,
    // Before the first write, the shared caches are up to date.
    get catalog() {
      return db.hasBegun ? fresh : services.catalog;
    },
    get boxes() {
      return db.hasBegun ? unkeptBoxes : services.boxes;
    },
    get visuals() {
      return db.hasBegun ? visuals : services.visuals;
    },
    changes: {
      get trusted() {
        return services.changes.trusted;
      },
      // Nothing to propagate before the transaction is committed.
      propagate: async () => undefined,
    },
  };
}
