import { randomBytes } from "node:crypto";
import { Failure, failed } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { type MemberChanged, requireAuthor, requireMember } from "./members.js";
import { secretHash } from "./sessions.js";

/**
 * Links by which users of a project choose their passwords: for new users, and for those who have forgotten theirs. A link counts
 * once, for a week, and until the next one is made for its user. Only the hash of its secret is stored.
 */

const lastsDays = 7;

const pattern = /^mwi_[A-Za-z0-9_-]{43}$/;

export interface Invitation {
  /** Stored nowhere. */
  readonly secret: string;
  readonly endsAt: Date;
}

export interface Invited {
  readonly accountId: number;
  readonly login: string;
}

/**
 * Makes a link for a user of the project. An account that has a role in other projects, too, has its password for all of them,
 * so that no administrator of one of them may change it; nor of an operator's.
 * @throws Failure forbidden when the author is no administrator any more; not_found; invalid_value for an account of several projects
 */
export function invite(
  db: Database,
  { projectId, accountId, by }: MemberChanged & { readonly accountId: number },
): Promise<Invitation> {
  return db.transaction(async (tx) => {
    await requireAuthor(tx, projectId, by);
    await requireMember(tx, projectId, accountId);
    await requireOfProjectAlone(tx, accountId);
    return writeInvitation(tx, projectId, accountId);
  });
}

/** @throws Failure invalid_value for an account of several projects, or an operator's */
export async function requireOfProjectAlone(tx: Queryable, accountId: number): Promise<void> {
  if (await isOfProjectAlone(tx, accountId)) return;
  throw failed(
    "invalid_value",
    "This user belongs to other projects, too, or is an operator: only an operator sets a new password, by the command `user password`.",
  );
}

/** Makes a link for a user of the project, whoever asks. */
export async function writeInvitation(
  tx: Queryable,
  projectId: number,
  accountId: number,
): Promise<Invitation> {
  const secret = `mwi_${randomBytes(32).toString("base64url")}`;
  const [row] = await tx.query<{ endsAt: Date }>(
    `insert into invitation (account_id, project_id, hash, ends_at) values ($1, $2, $3, now() + make_interval(days => $4))
     on conflict (account_id) do update set project_id = excluded.project_id, hash = excluded.hash, ends_at = excluded.ends_at
     returning ends_at as "endsAt"`,
    [accountId, projectId, secretHash(secret), lastsDays],
  );
  return { secret, endsAt: row!.endsAt };
}

/** Whom a link is for; undefined when it does not count (any more). */
export async function invited(
  db: Queryable,
  projectId: number,
  secret: string,
): Promise<Invited | undefined> {
  if (!pattern.test(secret)) return undefined;
  const [row] = await db.query<Invited>(
    `select a.id as "accountId", a.login from invitation i join account a on a.id = i.account_id
     where i.hash = $1 and i.project_id = $2 and i.ends_at > now() and not a.is_operator
       and not exists (select from membership m where m.account_id = a.id and m.project_id <> i.project_id)`,
    [secretHash(secret), projectId],
  );
  return row;
}

/** Uses up a link: its user has that password now. @throws Failure forbidden, as `noInvitation` */
export async function acceptInvitation(
  db: Database,
  projectId: number,
  { secret, passwordHash }: { readonly secret: string; readonly passwordHash: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const found = await invited(tx, projectId, secret);
    if (!found) throw noInvitation();
    const { accountId } = found;
    // Of two at once one finds it.
    const used = await tx.execute("delete from invitation where account_id = $1 and hash = $2", [
      accountId,
      secretHash(secret),
    ]);
    // From here on nobody gives the account a role in another project.
    await tx.query("select from account where id = $1 for update", [accountId]);
    if (used === 0 || !(await isOfProjectAlone(tx, accountId))) throw noInvitation();
    await tx.execute("update account set password_hash = $2 where id = $1", [accountId, passwordHash]);
  });
}

/**
 * The same for all that do not count: unknown, used, ended, and those that are not looked at after too many wrong ones.
 * @param retryAfterSeconds of the latter: when the next one will be looked at
 */
export const noInvitation = (retryAfterSeconds?: number): Failure =>
  new Failure(
    "forbidden",
    undefined,
    "This invitation does not count any more: ask an administrator of the project for a new one.",
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  );

/** Until when links of a project's users count, by their accounts. @param one only that account's; default: all */
export async function openInvitations(
  db: Queryable,
  projectId: number,
  one?: number,
): Promise<ReadonlyMap<number, Date>> {
  const rows = await db.query<{ id: number; endsAt: Date }>(
    `select account_id as id, ends_at as "endsAt" from invitation
     where project_id = $1 and ends_at > now() and ($2::int is null or account_id = $2)`,
    [projectId, one ?? null],
  );
  return new Map(rows.map(({ id, endsAt }) => [id, endsAt]));
}

/** Deletes links whose time is over. */
export const pruneInvitations = (db: Database): Promise<number> =>
  db.execute("delete from invitation where ends_at <= now()");

/** Whether the account has a role in one project, and nowhere else anything to say. */
async function isOfProjectAlone(tx: Queryable, accountId: number): Promise<boolean> {
  const [row] = await tx.query<{ alone: boolean }>(
    `select (select count(*) from membership m where m.account_id = a.id) = 1 and not is_operator as alone
     from account a where id = $1`,
    [accountId],
  );
  return row?.alone ?? false;
}
