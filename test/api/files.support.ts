import type { ApiAnswer, TestServer } from "../support/server.js";

/** Layers with a column for files, objects in them, and files sent to them. */

/** A map `m` with the layer, whose columns `files` and (localised) `papers` take files and `name` does not. */
export async function makeFileLayer(server: TestServer, code: string, map = "m"): Promise<void> {
  const token = await server.token("editor");
  const made = await server.api("POST", `${map}/layers/`, { token, body: { code } });
  if (made.status !== 200) throw new Error(`layer: ${made.status} ${made.text}`);
  for (const column of [
    { code: "files", type: "file" },
    { code: "papers", type: "file", localized_value: true },
    { code: "name", type: "string" },
  ]) {
    await server.sql.query(
      "insert into layer_column (layer_id, code, type, localized_value, sort) values ($1, $2, $3, $4, 9)",
      [made.json.id, column.code, column.type, column.localized_value ?? false],
    );
    const physical = (
      await server.sql.query("select id from layer_column where layer_id = $1 and code = $2", [
        made.json.id,
        column.code,
      ])
    ).rows[0].id;
    const type = column.localized_value ? "jsonb" : column.type === "file" ? "bigint[]" : "text";
    await server.sql.query(`alter table layers.l${made.json.id} add column c${physical} ${type}`);
  }
  await server.nodes[0]!.services.changes.propagate();
}

export async function makeObject(
  server: TestServer,
  layer: string,
  fields: Record<string, unknown> = {},
): Promise<number> {
  const token = await server.token("editor");
  const made = await server.api("POST", `m/layers/${layer}/objects/`, { token, body: { fields } });
  if (made.status !== 200) throw new Error(`object: ${made.status} ${made.text}`);
  return made.json.id;
}

export interface Sent {
  readonly bytes: Uint8Array | string;
  readonly name?: string;
  readonly field?: string;
  readonly lng?: string;
  readonly token?: string | undefined;
  /** Where the token travels; default: a header. */
  readonly tokenIn?: "header" | "form";
  /** Code of its map; default: `m`. */
  readonly map?: string;
}

/** Posts a file to an object; the path begins after the map's `layers/`. */
export async function send(server: TestServer, object: string, sent: Sent): Promise<ApiAnswer> {
  const form = new FormData();
  const token = "token" in sent ? sent.token : await server.token("editor");
  if (token && sent.tokenIn === "form") form.set("token", token);
  if (sent.field !== "") form.set("field", sent.field ?? "files");
  if (sent.lng) form.set("lng", sent.lng);
  form.set("file", new File([sent.bytes as never], sent.name ?? "a.txt"));
  const answer = await fetch(`${server.url}/api/2.8/p/${sent.map ?? "m"}/layers/${object}/files/`, {
    method: "POST",
    body: form,
    headers: token && sent.tokenIn !== "form" ? { "x-token": token } : {},
  });
  const text = await answer.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: answer.status, headers: answer.headers, text, json };
}
