import { isStorable } from "../catalog/codes.js";
import { projectId, removeAccountsWithoutProject } from "../catalog/projects.js";
import type { Role } from "../catalog/state.js";
import { Failure, failed, notFound } from "../errors.js";
import { didYouMean } from "../near-name.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { hashPassword, verifyPassword } from "./passwords.js";

/**
 * Accounts and their roles in projects. A login belongs to a project: the same in another project is another account, with a
 * password of its own, unless that account was given a role there too.
 */

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
  /** Its id: equal where one account has roles in several projects. */
  readonly account: number;
}

/** The login `public` is reserved: grants use it for the public. @throws Failure invalid_value */
export function checkLogin(login: string): string {
  const printable =
    login.length > 0 && login.length <= 128 && isStorable(login) && !/[\p{Cc}\s]/u.test(login);
  if (printable && login !== "public") return login;
  throw failed(
    "invalid_value",
    'A login has 1 to 128 characters, no spaces among them, and is not "public".',
  );
}

/** An account with the codes of its projects, sorted. */
export interface AccountOfProjects extends Account {
  readonly projects: readonly string[];
}

/** All accounts with that login, ordered by their projects. */
export async function accountsOf(db: Queryable, login: string): Promise<AccountOfProjects[]> {
  if (!isStorable(login)) return [];
  return db.query<AccountOfProjects>(
    `select id, login, projects from (
       select a.id, a.login, array(select p.code from membership m join project p on p.id = m.project_id
         where m.account_id = a.id order by p.code) as projects
       from account a where a.login = $1) found
     order by projects, id`,
    [login],
  );
}

/**
 * Tells the login that may be meant: for commands, whose user may know all of them.
 * @param project its id; default: all
 */
export async function noUser(db: Queryable, login: string, project?: number): Promise<Failure> {
  const users = await listAccounts(db, project);
  const where = project === undefined ? "" : " in this project";
  const end = didYouMean(
    login,
    users.map((user) => user.login),
  );
  return new Failure("not_found", undefined, `There is no user "${login}"${where}${end}`);
}

/** The projects of several accounts, as messages name them. */
export const projectsOf = (accounts: readonly AccountOfProjects[]): string =>
  accounts.map(({ projects }) => projects.join(", ") || "no project").join("; ");

/**
 * The account with that login in a project; without one, the only account with that login.
 * @param project its code
 * @throws Failure not_found, project_not_found; invalid_value when no project is given and there are several
 */
export async function accountOf(db: Queryable, login: string, project?: string): Promise<AccountOfProjects> {
  const all = await accountsOf(db, login);
  const found = project === undefined ? all : all.filter(({ projects }) => projects.includes(project));
  const [only] = found;
  if (!only) throw await noUser(db, login, project === undefined ? undefined : await projectId(db, project));
  if (found.length > 1)
    throw failed(
      "invalid_value",
      `There are ${found.length} accounts with the login "${login}": of ${projectsOf(found)}. Name a project of the one that is meant.`,
    );
  return only;
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
     where m.login = $2`,
    [project, login],
  );
  return row;
}

export interface NewMember {
  readonly login: string;
  /** Required for a new account, or its hash: "" = nobody signs in by a password. */
  readonly password?: string;
  readonly passwordHash?: string;
  /** The account of another project that gets the role here too; default: a new one. */
  readonly accountId?: number;
  readonly projectId: number;
  readonly role: Role;
}

/**
 * Gives a user a role in a project, in place of any other role there. One that the project has keeps its account and password.
 * @param admit whether it may be done, asked when nobody else changes the project's users; it throws otherwise
 * @throws Failure invalid_value for an invalid login or password, and when the project's user of that login has another account
 */
export async function addMember(
  db: Database,
  { projectId, role, password, passwordHash, accountId, ...member }: NewMember,
  admit: (tx: Queryable, known: Account | undefined) => Promise<void> = async () => undefined,
): Promise<Account & { readonly created: boolean }> {
  const login = checkLogin(member.login);
  const isNew = accountId === undefined && !(await findMember(db, projectId, login));
  // Hashing is slow, so it is done before the transaction takes a connection.
  const hash = isNew ? (passwordHash ?? (await hashPassword(password ?? ""))) : undefined;
  return db.transaction(async (tx) => {
    // One after the other, so that many at once make one account.
    await tx.query("select from project where id = $1 for update", [projectId]);
    const known = await findMember(tx, projectId, login);
    await admit(tx, known);
    if (known) {
      if (accountId !== undefined && accountId !== known.id)
        throw failed("invalid_value", `The user "${login}" of this project has another account.`);
      await setRole(tx, { projectId, accountId: known.id, role });
      return { ...known, created: false };
    }
    if (accountId === undefined && hash === undefined) throw notFound(`user "${login}" in this project`);
    if (accountId === undefined)
      return { ...(await insertMember(tx, { login, passwordHash: hash!, projectId, role })), created: true };
    const [account] = await tx.query<Account>("select id, login from account where id = $1 and login = $2", [
      accountId,
      login,
    ]);
    if (!account) throw notFound(`user "${login}"`);
    await insertRole(tx, projectId, account.id, role);
    return { ...account, created: false };
  });
}

/** A new account with a role in a project that has nobody of that login. */
export async function insertMember(
  tx: Queryable,
  {
    login,
    passwordHash,
    projectId,
    role,
  }: Omit<NewMember, "password" | "accountId"> & { readonly passwordHash: string },
): Promise<Account> {
  const [account] = await tx.query<Account>(
    "insert into account (login, password_hash) values ($1, $2) returning id, login",
    [login, passwordHash],
  );
  await insertRole(tx, projectId, account!.id, role);
  return account!;
}

const insertRole = (tx: Queryable, project: number, account: number, role: Role): Promise<unknown> =>
  tx.execute("insert into membership (project_id, account_id, role) values ($1, $2, $3)", [
    project,
    account,
    role,
  ]);

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
         join membership m on m.account_id = a.id and m.project_id = $1 where m.login = $2`,
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
    `select a.login, p.code as project, m.role, a.id as account from account a
     left join membership m on m.account_id = a.id left join project p on p.id = m.project_id
     where ($1::int is null or m.project_id = $1) and not exists (select from access_key k where k.account_id = a.id)
     order by a.login, p.code, a.id`,
    [project ?? null],
  );
}

/**
 * Sets a new password, in all projects of the account. An invitation to choose one ends.
 * @throws Failure not_found, invalid_value
 */
export async function setPassword(db: Queryable, { id, login }: Account, password: string): Promise<Account> {
  const hash = await hashPassword(password);
  const [row] = await db.write<Account>(
    `with ended as (delete from invitation where account_id = $1)
     update account set password_hash = $2 where id = $1 returning id, login`,
    [id, hash],
  );
  if (!row) throw notFound(`user "${login}"`);
  return row;
}

/**
 * Removes a user's role and grants in one project, and the account with its last project; without a project, the only account
 * of that login.
 * @throws Failure not_found; invalid_value as `accountOf`
 */
export async function removeMember(db: Database, login: string, project?: number): Promise<Account> {
  return db.transaction(async (tx) => {
    if (project === undefined) {
      const { id } = await accountOf(tx, login);
      await endInvitationsBy(tx, id);
      await tx.execute("delete from account where id = $1", [id]);
      return { id, login };
    }
    const account = await findMember(tx, project, login);
    if (!account) throw await noUser(tx, login, project);
    await removeFromProject(tx, project, account.id);
    return account;
  });
}

/** Changes the role of a user of the project. */
export async function setRole(
  tx: Queryable,
  { projectId, accountId, role }: { projectId: number; accountId: number; role: Role },
): Promise<void> {
  if (role !== "admin") await endInvitationsBy(tx, accountId, projectId);
  await tx.execute("update membership set role = $3 where project_id = $1 and account_id = $2", [
    projectId,
    accountId,
    role,
  ]);
}

/**
 * Ends all open invitations of projects that an account administers no longer: it may have made some, and kept them, by which it
 * would take over the accounts of others. To be called before its role goes.
 * @param project default: all of them
 */
const endInvitationsBy = (tx: Queryable, account: number, project?: number): Promise<unknown> =>
  tx.execute(
    `delete from invitation i using membership m
     where m.project_id = i.project_id and m.account_id = $1 and m.role = 'admin' and ($2::int is null or m.project_id = $2)`,
    [account, project ?? null],
  );

/** Removes the role and grants of an account in a project, and the account with its last project. */
export async function removeFromProject(tx: Queryable, project: number, account: number): Promise<void> {
  const values = [project, account];
  await endInvitationsBy(tx, account, project);
  await tx.execute("delete from membership where project_id = $1 and account_id = $2", values);
  await tx.execute("delete from access_grant where project_id = $1 and account_id = $2", values);
  // What is restored later brings none of them back, also if the user is a member again by then.
  await tx.execute(
    `update bin set kept = kept || jsonb_build_object('grants', jsonb_path_query_array(
       kept, '$.grants[*] ? (@.account_id == null || @.account_id != $id)', jsonb_build_object('id', $2::int)))
     where project_id = $1 and kept->'grants' @> jsonb_build_array(jsonb_build_object('account_id', $2::int))`,
    values,
  );
  await removeAccountsWithoutProject(tx, [account]);
}
