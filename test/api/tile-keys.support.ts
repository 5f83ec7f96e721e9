import { setGrant } from "../../src/access/grants.js";
import { setPublication } from "../../src/catalog/maps.js";
import type { Role } from "../../src/catalog/state.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import type { TestServer } from "../support/server.js";

/** Maps that are not published, and keys for their tiles. */

export interface MadeKey {
  readonly key: string;
  readonly url: string;
  readonly tilejson: string;
  readonly expires: string;
}

/** A map that is not published, with a red layer `l` at 5 to 15 degrees and a blue one `kept` beside it. Returns its id. */
export async function makeClosedMap(server: TestServer, code: string): Promise<number> {
  const { services } = server.nodes[0]!;
  const id = await makeMap(server, code);
  await makeStyledLayer(server, code, "l", "#l { polygon-fill: #f00; }");
  await addObject(server, "l", square(5, 5, 10), { map: code });
  await makeStyledLayer(server, code, "kept", "#kept { polygon-fill: #00f; }");
  await addObject(server, "kept", square(25, 5, 10), { map: code });
  const project = await services.catalog.project("p");
  await setPublication(services.db, project.id, code, false);
  await services.changes.propagate();
  return id;
}

/** Sets the rights of a user (null = the public) on the map, or on one of its layers; undefined = those of the role. */
export async function grant(
  server: TestServer,
  target: { readonly login: string | null; readonly map: string; readonly layer?: string },
  rights: number | undefined,
): Promise<void> {
  const { services } = server.nodes[0]!;
  await setGrant(services.db, { project: "p", ...target }, rights);
  await services.changes.propagate();
}

/** A session of its own. */
export async function login(server: TestServer, role: Role | string): Promise<string> {
  const answer = await server.api("POST", "login/", { body: { user: role, pass: `${role}${role}` } });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.token;
}

export async function makeKey(server: TestServer, map: string, token: string, body = {}): Promise<MadeKey> {
  const answer = await server.api("POST", `${map}/tile-key/`, { token, body });
  if (answer.status !== 200) throw new Error(`key: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** The address of the tile at zoom 6 that lies in the red layer. */
export const inRed = (template: string): string =>
  template.replace("{z}", "6").replace("{x}", "33").replace("{y}", "30");

export async function get(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, body, text: body.toString("latin1") };
}
export const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
  (await get(url, headers)).status;
