import { randomBytes, randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import { isStorable } from "../catalog/codes.js";
import { type Caller, type ProjectState, Right, type Rights } from "../catalog/state.js";
import { failed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { requireAuthor } from "./members.js";
import { secretHash } from "./sessions.js";

/**
 * Keys that last, for programs: a key stands for an account of its own, which has no role and one grant. It ends when it is
 * deleted, or at its time. Only its hash is stored.
 */

export const keyRights = {
  read: Right.read,
  edit: Right.read | Right.editObjects | Right.editStructure,
} as const satisfies Readonly<Record<string, Rights>>;
export type KeyRights = keyof typeof keyRights;

/** Of one project. */
const mostKeys = 1_000;
/** How long the time of the last use may be behind: ms. */
const noteMs = 60_000;

const pattern = /^mwk_[A-Za-z0-9_-]{43}$/;

/** Whether a token is a key, and not one of a session. */
export const isAccessKey = (token: string): boolean => pattern.test(token);

export interface NewAccessKey {
  readonly name: string;
  readonly rights: KeyRights;
  /** null = the whole project. */
  readonly mapId: number | null;
  /** null = the whole map. */
  readonly layerId: number | null;
  /** null = never. */
  readonly endsAt: Date | null;
  /** Login of who makes it; "" = the operator. */
  readonly by: string;
  /** Its account, which must be an administrator's still; undefined = the operator. */
  readonly author?: number;
}

export interface AccessKeyInfo {
  readonly id: number;
  readonly name: string;
  /** `none` = its map or layer is gone. */
  readonly rights: KeyRights | "none";
  /** Codes; null = all. */
  readonly map: string | null;
  readonly layer: string | null;
  readonly expires: Date | null;
  readonly created: Date;
  /** Login; "" = the operator. */
  readonly created_by: string;
  /** Some time within the last minute before the last use; null = it was not used yet. */
  readonly used: Date | null;
}

const timePattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** When a key ends. @param text ISO 8601; undefined = never @returns null = never; undefined for what is no time, or over */
export function timeToCome(text: string | undefined): Date | null | undefined {
  if (text === undefined) return null;
  const time = timePattern.test(text) ? Date.parse(text) : Number.NaN;
  return time > Date.now() ? new Date(time) : undefined;
}

/** Whether that can be the name of a key: lists of keys are printed on terminals. */
export const isKeyName = (name: string): boolean =>
  name.trim() !== "" && name.length <= 200 && isStorable(name) && !/\p{Cc}/u.test(name);

/**
 * Makes a key.
 * @returns its id, and the key itself, which is stored nowhere
 * @throws Failure invalid_value when there are too many; forbidden when the author is no administrator any more: a key would outlast
 *   that
 */
export function addAccessKey(
  db: Database,
  project: number,
  { name, rights, mapId, layerId, endsAt, by, author }: NewAccessKey,
): Promise<{ readonly id: number; readonly key: string }> {
  const key = `mwk_${randomBytes(32).toString("base64url")}`;
  return db.transaction(async (tx) => {
    // One after the other, so that they can be counted.
    if (author !== undefined) await requireAuthor(tx, project, author);
    else await tx.query("select from project where id = $1 for update", [project]);
    const [row] = await tx.query<{ count: number }>(
      "select count(*)::int as count from access_key where project_id = $1",
      [project],
    );
    const { count } = row!;
    if (count >= mostKeys && count - (await deleteEnded(tx, project)) >= mostKeys)
      throw failed("invalid_value", `A project has at most ${mostKeys} keys: delete some.`);
    const [account] = await tx.query<{ id: number }>(
      // Nobody signs in by it: no password has that hash.
      "insert into account (login, password_hash) values ($1, '') returning id",
      [`key:${randomUUID()}`],
    );
    const { id } = account!;
    await tx.execute(
      "insert into access_key (account_id, project_id, name, hash, created_by, ends_at) values ($1, $2, $3, $4, $5, $6)",
      [id, project, name, secretHash(key), by, endsAt],
    );
    await tx.execute(
      "insert into access_grant (project_id, map_id, layer_id, account_id, rights) values ($1, $2, $3, $4, $5)",
      [project, mapId, layerId, id, keyRights[rights]],
    );
    return { id, key };
  });
}

/** Deletes the keys whose time is over. @returns how many */
const deleteEnded = (tx: Queryable, project: number): Promise<number> =>
  tx.execute(
    "delete from account using access_key k where account.id = k.account_id and k.project_id = $1 and k.ends_at <= now()",
    [project],
  );

/** The keys of a project, in the order in which they were made. One whose map or layer is gone has no rights any more. */
export async function listAccessKeys(db: Queryable, project: number): Promise<AccessKeyInfo[]> {
  const rows = await db.query<Omit<AccessKeyInfo, "rights"> & { rights: number }>(
    `select k.account_id as id, k.name, coalesce(g.rights, 0) as rights, m.code as map, l.code as layer,
       k.ends_at as expires, k.created_at as created, k.created_by, k.last_used_at as used
     from access_key k
     left join access_grant g on g.account_id = k.account_id and g.project_id = k.project_id
     left join map m on m.id = g.map_id left join node l on l.id = g.layer_id
     where k.project_id = $1 order by k.account_id`,
    [project],
  );
  return rows.map(({ rights, ...key }) => ({ ...key, rights: nameOf(rights) }));
}

const nameOf = (rights: Rights): AccessKeyInfo["rights"] =>
  rights === 0 ? "none" : (rights & Right.editObjects) === 0 ? "read" : "edit";

/** @returns false when there is none */
export async function deleteAccessKey(db: Queryable, project: number, id: number): Promise<boolean> {
  const rows = await db.write(
    "delete from account using access_key k where account.id = k.account_id and k.project_id = $1 and k.account_id = $2 returning 1",
    [project, id],
  );
  return rows.length > 0;
}

/** The caller that a key stands for; undefined when the project has no such key, or its time is over. */
export function callerOfAccessKey(
  key: string,
  { id, keys }: Pick<ProjectState, "id" | "keys">,
  now = Date.now(),
): Caller | undefined {
  const found = keys.get(secretHash(key));
  if (!found || (found.endsAt !== null && found.endsAt <= now)) return undefined;
  return { accountId: found.accountId, login: null, projectId: id, isKey: true };
}

/** Whether the project still has the key that this caller came with. */
export const isStillKey = (
  { accountId }: Pick<Caller, "accountId">,
  { keys }: Pick<ProjectState, "keys">,
): boolean =>
  [...keys.values()].some(
    (key) => key.accountId === accountId && (key.endsAt === null || key.endsAt > Date.now()),
  );

/** Whether a key may do more than read: it stands in no addresses, which logs and histories keep. */
export const mayEdit = (
  { grants }: Pick<ProjectState, "grants">,
  { accountId }: Pick<Caller, "accountId">,
): boolean => grants.some((grant) => grant.accountId === accountId && (grant.rights & ~Right.read) !== 0);

/** Notes in the database when keys were used last, each at most once a minute. */
export class KeyUses {
  private readonly noted = new LRUCache<number, true>({ max: 10_000, ttl: noteMs });

  constructor(
    private readonly db: Pick<Queryable, "write">,
    private readonly onUse: () => void,
  ) {}

  note(accountId: number): void {
    this.onUse();
    if (this.noted.has(accountId)) return;
    this.noted.set(accountId, true);
    this.db
      .write(
        `update access_key set last_used_at = now()
         where account_id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
        [accountId],
      )
      .catch(() => undefined);
  }
}
