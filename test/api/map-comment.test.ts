import t from "tap";
import { startServer } from "../support/server.js";

/** What is said about a map. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];
const patch = (body: object, headers: Record<string, string> = {}) =>
  api("PATCH", "m/", { token: admin, body, headers });
const about = async (): Promise<unknown> => (await api("GET", "m/")).json.comment ?? "";
const ofProject = async (): Promise<Record<string, unknown>> => {
  const [project] = (await (await fetch(`${server.url}/viewer/maps.json?project=p`)).json()) as {
    maps: Record<string, unknown>[];
  }[];
  return project!.maps.find(({ code }) => code === "m")!;
};
const text = "All trees.\n<script>alert(1)</script> Деревья 🌳";

t.test("a map is created with it or without; PATCH keeps it, PUT resets it", async (t) => {
  const plain = await api("POST", "", { token: editor, body: { code: "plain" } });
  t.notOk("comment" in plain.json, "a map without one is answered as the contract lists it");
  const made = await api("POST", "", { token: editor, body: { code: "m", comment: text } });
  t.equal(made.json.comment, text, made.text);
  t.equal((await ofProject()).description, text);
  t.equal((await patch({ name: "Trees" })).json.comment, text);
  t.equal((await patch({ comment: null })).json.comment, text, "null is nothing said");
  t.equal((await patch({ comment: "" })).json.comment, undefined);
  t.equal((await ofProject()).description, undefined);
  t.equal((await patch({ comment: text })).json.comment, text);
  t.equal((await api("PUT", "m/", { token: admin, body: { name: "Trees" } })).json.comment, undefined);
  await patch({ comment: text });
  const tiles = await fetch(`${server.url}/tms/p/m/tile.json`);
  t.match(await tiles.json(), { description: text });
});

t.test("it is part of the state of the map", async (t) => {
  const before = (await api("GET", "m/")).headers.get("etag")!;
  t.equal((await patch({ comment: "New" }, { "if-match": before })).status, 200);
  t.equal((await patch({ comment: "Late" }, { "if-match": before })).status, 412);
  t.equal(await about(), "New");
});

t.test("what is no short text is refused, and who does not administer the map", async (t) => {
  for (const comment of [7, true, {}, ["a"], "x".repeat(2_001)])
    t.match(
      (await patch({ comment })).json,
      { code: "invalid_value", data: { parameter: "comment" } },
      `${JSON.stringify(comment).slice(0, 20)}`,
    );
  t.not((await patch({ comment: "a\0b" })).status, 200);
  t.equal((await patch({ comment: "x".repeat(2_000) })).status, 200);
  await patch({ comment: "New" });
  for (const [token, status] of [
    [undefined, 401],
    [viewer, 403],
    [editor, 403],
  ] as const)
    t.equal((await api("PATCH", "m/", { token, body: { comment: "mine" } })).status, status);
  t.equal(await about(), "New");
});

t.test("the list of maps does not grow with longer ones, which only the database can have", async (t) => {
  await server.sql.query("update map set comment = repeat('я', 100000) where code = 'm'");
  await server.nodes[0]!.services.changes.propagate();
  t.equal(String((await ofProject()).description).length, 2_000);
  await patch({ comment: "New" });
});

t.test("its changes are undone, and it comes back from the bin", async (t) => {
  await patch({ comment: "Wrong" });
  const [last] = (await api("GET", "history/?map=m&kind=map&values=1", { token: admin })).json.entries;
  t.match(last, { before: { comment: "New" }, after: { comment: "Wrong" } });
  await api("POST", `history/${last.id}/undo/`, { token: admin, body: {} });
  t.equal(await about(), "New");
  await api("DELETE", "m/", { token: admin });
  const [entry] = (await api("GET", "bin/", { token: admin })).json.entries;
  await api("POST", `bin/${entry.id}/restore/`, { token: admin, body: {} });
  t.equal(await about(), "New");
});
