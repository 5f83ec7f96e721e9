import { failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { checkText } from "./codes.js";
import { setMostBytes } from "./disk-use.js";

/** The projects of the installation, as operators see them. */

export interface InstallationProject {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly maps: number;
  readonly layers: number;
  readonly users: number;
  /** Logins of its administrators, some if there are many. */
  readonly administrators: readonly string[];
  /** What it takes of the disks; null = it was not measured yet. */
  readonly bytes: number | null;
  readonly measuredAt: Date | null;
  /** The most that it may take; null = as much as there is. */
  readonly mostBytes: number | null;
}

const mostAdministrators = 20;

/** Ordered by code. @param only the code of one */
export const installationProjects = (db: Queryable, only?: string): Promise<InstallationProject[]> =>
  db.query<InstallationProject>(
    `select p.code, p.name, p.languages, u.bytes, u.measured_at as "measuredAt", u.most_bytes as "mostBytes",
       (select count(*) from map m where m.project_id = p.id)::int as maps,
       (select count(*) from map m join node n on n.map_id = m.id where m.project_id = p.id and n.type <> 'folder')::int as layers,
       (select count(*) from membership m where m.project_id = p.id)::int as users,
       array(select m.login from membership m where m.project_id = p.id and m.role = 'admin'
         order by m.login limit ${mostAdministrators}) as administrators
     from project p left join project_disk_use u on u.project_id = p.id
     where not p.hidden and ($1::text is null or p.code = $1) order by p.code`,
    [only ?? null],
  );

export interface ProjectChange {
  readonly name: string | undefined;
  /** undefined = it stays; null = as much as there is. */
  readonly mostBytes: number | null | undefined;
}

/** @throws Failure invalid_value */
export async function changeProject(
  tx: Queryable,
  id: number,
  { name, mostBytes }: ProjectChange,
): Promise<void> {
  if (name !== undefined) {
    if (name.trim() === "")
      throw failed("invalid_value", "A project's name is not empty.", { parameter: "name" });
    await tx.execute("update project set name = $2 where id = $1 and name <> $2", [
      id,
      checkText(name, "name"),
    ]);
  }
  if (mostBytes !== undefined) await setMostBytes(tx, id, mostBytes);
}

/** An import that goes on, or has ended within the last day. */
export interface InstallationImport {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  /** Who began it. */
  readonly login: string;
  readonly state: "running" | "done" | "failed" | "cancelled";
  readonly rows: number;
  readonly created: Date;
  readonly finished: Date | null;
}

const mostImports = 50;

/** Those that run first, then the latest. */
export const installationImports = (db: Queryable): Promise<InstallationImport[]> =>
  db.query<InstallationImport>(
    `select p.code as project, m.code as map, n.code as layer, a.login, j.state, j.rows, j.created_at as created,
       j.finished_at as finished
     from import_job j join project p on p.id = j.project_id and not p.hidden join account a on a.id = j.account_id
       join node n on n.id = j.layer_id join map m on m.id = n.map_id
     order by j.state = 'running' desc, j.created_at desc limit ${mostImports}`,
  );

/** Where layers are: for what knows their ids only. */
export const layerPlaces = (
  db: Queryable,
  ids: readonly number[],
): Promise<
  { readonly id: number; readonly project: string; readonly map: string; readonly layer: string }[]
> =>
  db.query(
    `select n.id, p.code as project, m.code as map, n.code as layer
     from node n join map m on m.id = n.map_id join project p on p.id = m.project_id
     where n.id = any($1::bigint[]) order by p.code, m.code, n.code`,
    [ids],
  );
