import { forbidden } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import type { Session } from "./sessions.js";

/** Operators: accounts that may administer the installation. Only a command makes them. */

/** Whose session it is that asks. */
export type Operator = Omit<Session, "origin">;

/** Whether the session is an operator's own: not one that somebody else, or another system, has opened in that name. */
export async function isOperator(
  db: Queryable,
  { accountId, login, projectId, isByPassword }: Operator,
): Promise<boolean> {
  if (!isByPassword) return false;
  const rows = await db.query(
    // The login, too: a backup that is restored lets the ids of later accounts be given again.
    `select from account a join membership m on m.account_id = a.id and m.project_id = $2
     where a.id = $1 and m.login = $3 and a.is_operator`,
    [accountId, projectId, login],
  );
  return rows.length > 0;
}

/** To be asked again where something is changed: a request may take long to come. @throws Failure forbidden */
export async function requireOperator(db: Queryable, session: Operator): Promise<void> {
  if (!(await isOperator(db, session))) throw forbidden();
}

/** Invitations of the account end: one that was made before would count again when it is no operator any more. */
export const setOperator = (db: Queryable, accountId: number, isOne: boolean): Promise<unknown> =>
  db.write(
    `with ended as (delete from invitation where account_id = $1)
     update account set is_operator = $2 where id = $1`,
    [accountId, isOne],
  );
