import { isStorable } from "../catalog/codes.js";
import type { Role } from "../catalog/state.js";
import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { hashPassword, verifyPassword } from "./passwords.js";

/** Accounts, which are global to the installation, and their roles in projects. */

export interface Account {
  readonly id: number;
  readonly login: string;
}
/** An account whose password was checked. */
export interface AuthenticatedAccount extends Account {
  /** The hash that the password matched. */
  readonly passwordHash: string;
}
export interface AccountListItem {
  readonly login: string;
  readonly project: string | null;
  readonly role: Role | null;
}

/** The login `public` is reserved: grants use it for the public. */
function checkLogin(login: string): string {
  const printable =
    login.length > 0 && login.length <= 128 && isStorable(login) && !/[\p{Cc}\s]/u.test(login);
  if (printable && login !== "public") return login;
  throw failed(
    "invalid_value",
    'A login has 1 to 128 characters, no spaces among them, and is not "public".',
  );
}

export async function findAccount(db: Queryable, login: string): Promise<Account | undefined> {
  if (!isStorable(login)) return undefined;
  const [row] = await db.query<Account>("select id, login from account where login = $1", [login]);
  return row;
}

/** The account with that login, if it is a member of the project. */
export async function findMember(
  db: Queryable,
  project: number,
  login: string,
): Promise<Account | undefined> {
  if (!isStorable(login)) return undefined;
  const [row] = await db.query<Account>(
    `select a.id, a.login from account a join membership m on m.account_id = a.id and m.project_id = $1
     where a.login = $2`,
    [project, login],
  );
  return row;
}

export interface NewMember {
  readonly login: string;
  /** Required for a new account; an existing one keeps its password. */
  readonly password?: string;
  readonly projectId: number;
  readonly role: Role;
}

/**
 * Gives an account a role in a project, in place of any other role there. Creates the account if it does not exist; an
 * existing one keeps its password.
 * @throws Failure invalid_value for an invalid login or password
 */
export async function addMember(
  db: Database,
  member: NewMember,
): Promise<Account & { readonly created: boolean }> {
  const login = checkLogin(member.login);
  let account = await findAccount(db, login);
  // Hashing is slow, so it is done before the transaction takes a connection.
  const hash = account ? undefined : await hashPassword(member.password ?? "");
  return db.transaction(async (tx) => {
    let created = false;
    if (hash !== undefined) {
      [account] = await tx.query<Account>(
        "insert into account (login, password_hash) values ($1, $2) on conflict (login) do nothing returning id, login",
        [login, hash],
      );
      created = account !== undefined;
    }
    account ??= await findAccount(tx, login);
    if (!account) throw notFound(`user "${login}"`);
    await tx.execute(
      `insert into membership (project_id, account_id, role) values ($1, $2, $3)
       on conflict (project_id, account_id) do update set role = excluded.role`,
      [member.projectId, account.id, member.role],
    );
    return { ...account, created };
  });
}

/**
 * The account with this login and password, if it is a member of the project. An unknown login takes as long as a wrong
 * password.
 */
export async function authenticate(
  db: Queryable,
  project: number,
  login: string,
  password: string,
): Promise<AuthenticatedAccount | undefined> {
  const [row] = isStorable(login)
    ? await db.query<Account & { password_hash: string }>(
        `select a.id, a.login, a.password_hash from account a
         join membership m on m.account_id = a.id and m.project_id = $1 where a.login = $2`,
        [project, login],
      )
    : [];
  return (await verifyPassword(row?.password_hash, password)) && row
    ? { id: row.id, login: row.login, passwordHash: row.password_hash }
    : undefined;
}

/**
 * Whether the account is still a member of the project, with the password that was checked, if one was. To be asked after a
 * session was opened: a new password or a removal closes the sessions that it finds, and may have looked before.
 */
export async function isStillMember(
  db: Queryable,
  project: number,
  account: Account & Partial<AuthenticatedAccount>,
): Promise<boolean> {
  const rows = await db.query(
    `select 1 from account a join membership m on m.account_id = a.id and m.project_id = $1
     where a.id = $2 and ($3::text is null or a.password_hash = $3)`,
    [project, account.id, account.passwordHash ?? null],
  );
  return rows.length > 0;
}

/** Logins of a project's users, sorted. */
export async function projectLogins(db: Queryable, project: number): Promise<string[]> {
  const rows = await db.query<{ login: string }>(
    `select a.login from account a join membership m on m.account_id = a.id
     where m.project_id = $1 order by a.login`,
    [project],
  );
  return rows.map((row) => row.login);
}

/** All accounts with their role in each project, or only in one project; without any project, `project` and `role` are null. */
export function listAccounts(db: Queryable, project?: number): Promise<AccountListItem[]> {
  return db.query<AccountListItem>(
    `select a.login, p.code as project, m.role from account a
     left join membership m on m.account_id = a.id left join project p on p.id = m.project_id
     where $1::int is null or m.project_id = $1 order by a.login, p.code`,
    [project ?? null],
  );
}

/**
 * Sets a new password.
 * @throws Failure not_found, invalid_value
 */
export async function setPassword(db: Queryable, login: string, password: string): Promise<Account> {
  const hash = await hashPassword(password);
  const [row] = await db.write<Account>(
    "update account set password_hash = $2 where login = $1 returning id, login",
    [login, hash],
  );
  if (!row) throw notFound(`user "${login}"`);
  return row;
}

/**
 * Removes a user's role and grants in one project, or (without a project) deletes the account.
 * @throws Failure not_found
 */
export async function removeMember(db: Database, login: string, project?: number): Promise<Account> {
  return db.transaction(async (tx) => {
    const account = await findAccount(tx, login);
    if (!account) throw notFound(`user "${login}"`);
    if (project === undefined) {
      await tx.execute("delete from account where id = $1", [account.id]);
      return account;
    }
    const gone = await tx.execute("delete from membership where project_id = $1 and account_id = $2", [
      project,
      account.id,
    ]);
    if (gone === 0) throw notFound(`user "${login}" in this project`);
    await tx.execute("delete from access_grant where project_id = $1 and account_id = $2", [
      project,
      account.id,
    ]);
    return account;
  });
}
