import { type Failure, failed } from "../errors.js";
import { didYouMean } from "../near-name.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { checkCode, checkLanguage, checkText } from "./codes.js";
import { discardMaps } from "./discard.js";
import type { BaseMap } from "./state.js";

/** Creates, lists and deletes projects. */

export interface NewProject {
  readonly code: string;
  readonly name?: string;
  /** The first is the main language; default `en`. */
  readonly languages?: readonly string[];
}

const maxLanguages = 100;

export interface ProjectListItem {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly maps: number;
  readonly users: number;
}

/**
 * @returns the project's id
 * @throws Failure invalid_code, invalid_value, code_exists
 */
export async function createProject(db: Queryable, project: NewProject): Promise<number> {
  const languages = [...new Set((project.languages ?? ["en"]).map(checkLanguage))];
  if (languages.length === 0) throw failed("invalid_value", "A project has at least one language.");
  if (languages.length > maxLanguages)
    throw failed("invalid_value", `A project has at most ${maxLanguages} languages.`);
  const [row] = await db.write<{ id: number }>(
    `insert into project (code, name, languages) values ($1, $2, $3) on conflict (code) do nothing returning id`,
    [checkCode(project.code), checkText(project.name ?? "", "name"), languages],
  );
  if (!row) throw failed("code_exists", `There is a project "${project.code}" already.`);
  return row.id;
}

/** All projects except hidden ones, ordered by code. */
export function listProjects(db: Queryable): Promise<ProjectListItem[]> {
  return db.query<ProjectListItem>(
    `select id, code, name, languages,
       (select count(*) from map m where m.project_id = p.id)::int as maps,
       (select count(*) from membership m where m.project_id = p.id)::int as users
     from project p where not hidden order by code`,
  );
}

/** @throws Failure project_not_found */
export async function projectId(db: Queryable, code: string): Promise<number> {
  const [row] = await db.query<{ id: number }>("select id from project where code = $1 and not hidden", [
    code,
  ]);
  if (!row) throw await noProject(db, code);
  return row.id;
}

/** Tells the project that may be meant: for commands, whose user may know all of them. */
export async function noProject(db: Queryable, code: string): Promise<Failure> {
  const projects = await db.query<{ code: string }>("select code from project where not hidden order by id");
  const end = didYouMean(
    code,
    projects.map((project) => project.code),
  );
  return failed("project_not_found", `There is no project "${code}"${end}`);
}

/** Sets what is drawn below the maps of a project. @throws Failure project_not_found */
export async function setBaseMap(db: Queryable, code: string, baseMap: BaseMap): Promise<void> {
  const changed = await db.execute("update project set base_map = $2 where code = $1 and not hidden", [
    code,
    JSON.stringify(baseMap),
  ]);
  if (changed === 0) throw await noProject(db, code);
}

/**
 * Deletes the project with its maps, their layers and objects, and its users, but for those of other projects. It is hidden at
 * once, its code is free, and `removal.ts` deletes its contents later.
 * @throws Failure project_not_found
 */
export function deleteProject(db: Database, code: string): Promise<void> {
  return db.transaction(async (tx) => {
    const id = await projectId(tx, code);
    const maps = await tx.query<{ id: number }>(
      "select id from map where project_id = $1 order by id for update",
      [id],
    );
    await discardMaps(
      tx,
      maps.map((map) => map.id),
    );
    const members = await tx.query<{ id: number }>(
      "select account_id as id from membership where project_id = $1",
      [id],
    );
    await tx.execute(
      "delete from account using access_key k where account.id = k.account_id and k.project_id = $1",
      [id],
    );
    await tx.execute("delete from project where id = $1", [id]);
    await removeAccountsWithoutProject(
      tx,
      members.map((member) => member.id),
    );
  });
}

/** Removes those of the accounts that have a role in no project any more. */
export async function removeAccountsWithoutProject(tx: Queryable, ids: readonly number[]): Promise<void> {
  // By a statement of its own: a role that is given meanwhile is waited for, and then seen.
  await tx.query("select from account where id = any($1) order by id for update", [ids]);
  await tx.query(
    "delete from account a where id = any($1) and not exists (select from membership m where m.account_id = a.id)",
    [ids],
  );
}
