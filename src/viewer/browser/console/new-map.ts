import { type MapId, ServerError } from "../map-server.js";
import type { Edits } from "./edits.js";
import { codeOf } from "./file-groups.js";
import { newKey } from "./new-key.js";

/** New maps, with codes that are free. */

export interface NewPlace {
  readonly project: string;
  /** Whether a new map may stay hidden until it is published. */
  readonly mayHide: boolean;
  /** Names that other maps have. */
  readonly names: ReadonlySet<string>;
}
/** What was asked for: when its answer is lost, it is asked for again. */
export interface Asked {
  name?: string;
  code?: string | undefined;
  key?: string | undefined;
}

/** Codes with a number that are tried; the others have letters that nobody has. */
const numbered = 3;
const mostCodes = 6;

const codeAt = (plain: string, at: number): string =>
  at === 1 ? plain : `${plain}-${at <= numbered ? at : newKey().slice(0, 6)}`;

/** That name, or with a number when others have it. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name} ${number}`;
  return free;
}

/** @param asked goes on with what was begun before @throws ServerError */
export async function newMap(
  edits: Edits,
  wanted: string,
  { project, mayHide, names }: NewPlace,
  asked: Asked = {},
): Promise<MapId> {
  asked.name ??= freeName(wanted, names);
  const { name } = asked;
  const plain = codeOf(name, "map");
  for (let at = 1; ; at++) {
    asked.code ??= codeAt(plain, at);
    asked.key ??= newKey();
    const { code, key } = asked;
    const body = { code, name, ...(mayHide && { has_publication: false }) };
    try {
      await edits.send(project, "POST", [], { body, key });
      asked.code = asked.key = undefined;
      return { project, map: code };
    } catch (error) {
      const isTaken =
        error instanceof ServerError && (error.code === "code_exists" || error.code === "invalid_code");
      if (!isTaken) throw error;
      asked.code = asked.key = undefined;
      if (at >= mostCodes) throw error;
    }
  }
}
