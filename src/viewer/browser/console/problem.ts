import { isServerError, ServerError } from "../map-server.js";
import type { TextKey, Translate } from "../texts.js";
import { Conflict } from "./conflict.js";

/** What went wrong, in words, with what to do about it. */

export interface Problem {
  /** In the user's language. */
  readonly text: string;
  /** In the server's words, which tell more; "" = nothing. */
  readonly detail: string;
  /** Whether the same may succeed later. */
  readonly mayPass: boolean;
}

const byCode: Readonly<Record<string, TextKey>> = {
  unsupported_format: "problemFormat",
  no_georeference: "problemPlace",
  import_failed: "problemImport",
  invalid_geometry: "problemImport",
  invalid_style: "problemStyle",
  code_exists: "problemCode",
  constraint_violated: "problemConstraint",
  project_full: "problemFull",
};
const byStatus: Readonly<Record<number, TextKey>> = {
  0: "failedOffline",
  401: "problemSession",
  403: "problemRights",
  404: "problemGone",
  409: "problemChanged",
  412: "problemChanged",
  413: "problemLarge",
  429: "problemOften",
  503: "busyServer",
};
/** Of these the server's words say nothing more. */
const plain = new Set<number | string | undefined>([
  0,
  401,
  403,
  503,
  "internal",
  "unsupported_format",
  "project_full",
]);

/** The session, the connection, or what is between: with the last two nobody knows what was done. */
const passing = [0, 401, 429, 502, 503, 504];

export function problemOf(error: unknown, t: Translate): Problem {
  if (error instanceof Conflict) return { text: t(error.text, error.values), detail: "", mayPass: false };
  const { status, code, told } = isServerError(error) ? error : new ServerError(500, "internal");
  const key = (code !== undefined && byCode[code]) || byStatus[status] || "problemOther";
  const isPlain = plain.has(code) || plain.has(status);
  return { text: t(key), detail: isPlain ? "" : told, mayPass: passing.includes(status) };
}

/** Whether a question without an answer says nothing about what it asked for. */
export const goesOn = (error: unknown): boolean =>
  isServerError(error) && (error.status === 0 || error.status === 429 || error.status >= 500);

/** As one text. */
export function problemText(error: unknown, t: Translate): string {
  const { text, detail } = problemOf(error, t);
  return detail ? `${text} ${detail}` : text;
}
