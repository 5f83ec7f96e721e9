import t from "tap";
import { startServer } from "../support/server.js";

/** What of a map is seen at first, what is drawn below it, and what is said about it: all are kept with the map, wherever that goes. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];
const rome = [12.4, 41.8, 12.6, 42];
const patch = (map: string, body: object, more: object = {}) =>
  api("PATCH", `${map}/`, { token: admin, body, ...more });
const viewOf = async (map: string): Promise<unknown> => (await api("GET", `${map}/`)).json.start_view ?? null;
const about = async (): Promise<unknown> => (await api("GET", "m/")).json.comment ?? "";
const listed = async (map: string): Promise<Record<string, unknown> | undefined> => {
  const [project] = (await (await fetch(`${server.url}/viewer/maps.json?project=p`)).json()) as {
    maps: Record<string, unknown>[];
  }[];
  return project?.maps.find(({ code }) => code === map);
};

t.test("a map is created with a start view, or without", async (t) => {
  const plain = await api("POST", "", { token: editor, body: { code: "plain" } });
  t.notOk("start_view" in plain.json, "a map without one is answered as the contract lists it");
  t.equal((await listed("plain"))?.startView, undefined);
  const seen = await api("POST", "", { token: editor, body: { code: "seen", start_view: rome } });
  t.same(seen.json.start_view, rome, seen.text);
  t.same(await viewOf("seen"), rome);
  t.same((await listed("seen"))?.startView, rome);
  const older = await fetch(`${server.url}/api/2.2/p/?map_code=seen`);
  t.match(
    await older.json(),
    { map: { code: "seen", start_view: rome } },
    "as the settings of older versions",
  );
});

t.test("PATCH keeps it, PUT and null remove it", async (t) => {
  t.same((await patch("seen", { name: "Rome" })).json.start_view, rome);
  const across = [170.5, -10, 190.25, 10];
  t.same((await patch("seen", { start_view: across })).json.start_view, across, "across 180°");
  t.equal((await patch("seen", { start_view: null })).json.start_view, undefined);
  t.equal((await listed("seen"))?.startView, undefined);
  t.same((await patch("seen", { start_view: [-180, -90, 180, 90] })).json.start_view, [-180, -90, 180, 90]);
  const put = await api("PUT", "seen/", { token: admin, body: { name: "Rome", start_view: rome } });
  t.match(put.json, { name: "Rome", start_view: rome });
  t.equal((await api("PUT", "seen/", { token: admin, body: { name: "Rome" } })).json.start_view, undefined);
});

t.test("it is part of the state of the map", async (t) => {
  const before = (await api("GET", "seen/")).headers.get("etag")!;
  const changed = await patch("seen", { start_view: rome }, { headers: { "if-match": before } });
  t.equal(changed.status, 200, changed.text);
  t.not(changed.headers.get("etag"), before);
  const stale = await patch("seen", { start_view: null }, { headers: { "if-match": before } });
  t.equal(stale.status, 412);
  t.same(await viewOf("seen"), rome);
});

t.test("what is no box on the earth is refused, and changes nothing", async (t) => {
  const wrong: readonly unknown[] = [
    ...["", "12,41,13,42", 7, true, {}, { west: 1 }, [], [1, 2, 3], [1, 2, 3, 4, 5], [[1, 2, 3, 4]]],
    ...[
      [null, 1, 2, 3],
      ["1", "2", "3", "4"],
      [1, 2, 3, "x"],
      [{}, 1, 2, 3],
    ],
    ...[
      [13, 41, 12, 42],
      [12, 42, 13, 41],
      [12, 41, 12, 42],
      [12, 41, 13, 41],
    ],
    ...[
      [-181, 0, 0, 1],
      [181, 0, 190, 1],
      [10, 0, 371, 1],
      [0, -91, 1, 0],
      [0, 0, 1, 91],
    ],
    ...[
      [1e308, 1, 2, 3],
      [-1e308, 0, 1e308, 1],
      [5e-324, 0, 0, 1],
    ],
  ];
  for (const start_view of wrong) {
    const { status, json, text } = await patch("seen", { start_view });
    t.match(
      { status, ...json },
      { status: 500, code: "invalid_value", data: { parameter: "start_view" } },
      `${JSON.stringify(start_view)}: ${text}`,
    );
    const made = await api("POST", "", { token: editor, body: { code: "wrong", start_view } });
    t.equal(made.json.code, "invalid_value");
  }
  // JSON has no infinity, but numbers that are read as such.
  const endless = await fetch(`${server.url}/api/2.8/p/seen/`, {
    method: "PATCH",
    headers: {
      accept: "application/json",
      authorization: `Bearer ${admin}`,
      "content-type": "application/json",
    },
    body: '{"start_view": [0, 0, 1e999, 1]}',
  });
  t.equal(endless.status, 400);
  t.same(await viewOf("seen"), rome);
  t.equal((await api("GET", "wrong/")).status, 404);
  for (const view of ["{1,2,NaN,4}", "{1,2,null,4}", "{{1,2},{3,4}}", "{}", "{1,2,3}"])
    await t.rejects(
      sql.query("update map set start_view = $1 where code = 'seen'", [view]),
      /map_start_view_check/,
      `${view}, in the database, too`,
    );
});

t.test("only administrators of the map change it", async (t) => {
  const as = async (token?: string) =>
    (await api("PATCH", "seen/", { ...(token && { token }), body: { start_view: null } })).status;
  t.equal(await as(), 401);
  t.equal(await as("made-up"), 401);
  t.equal(await as(viewer), 403);
  t.equal(await as(editor), 403);
  t.same(await viewOf("seen"), rome);
});

t.test("its changes are told by the history, and undone", async (t) => {
  await patch("seen", { start_view: [1, 2, 3, 4] });
  const newest = async () =>
    (await api("GET", "history/?map=seen&kind=map&values=1", { token: admin })).json.entries[0];
  const last = await newest();
  t.match(last, { change: "changed", before: { start_view: rome }, after: { start_view: [1, 2, 3, 4] } });
  const undone = await api("POST", `history/${last.id}/undo/`, { token: admin, body: {} });
  t.equal(undone.status, 200, undone.text);
  t.same(await viewOf("seen"), rome);
  await patch("seen", { start_view: null });
  await api("POST", `history/${(await newest()).id}/undo/`, { token: admin, body: {} });
  t.same(await viewOf("seen"), rome, "also that it was removed");
});

t.test("it comes back from the bin, and stays with a map that is renamed", async (t) => {
  await patch("seen", { code: "renamed" });
  t.same(await viewOf("renamed"), rome);
  await api("DELETE", "renamed/", { token: admin });
  const [entry] = (await api("GET", "bin/", { token: admin })).json.entries;
  const restored = await api("POST", `bin/${entry.id}/restore/`, { token: admin, body: {} });
  t.equal(restored.status, 200, restored.text);
  t.same(await viewOf("renamed"), rome);
});

const text = "All trees.\n<script>alert(1)</script> Деревья 🌳";

t.test("a map is created with a description or without; PATCH keeps it, PUT resets it", async (t) => {
  const plain = await api("POST", "", { token: editor, body: { code: "unsaid" } });
  t.notOk("comment" in plain.json, "a map without one is answered as the contract lists it");
  const made = await api("POST", "", { token: editor, body: { code: "m", comment: text } });
  t.equal(made.json.comment, text, made.text);
  t.equal((await listed("m"))?.description, text);
  t.equal((await patch("m", { name: "Trees" })).json.comment, text);
  t.equal((await patch("m", { comment: null })).json.comment, text, "null is nothing said");
  t.equal((await patch("m", { comment: "" })).json.comment, undefined);
  t.equal((await listed("m"))?.description, undefined);
  t.equal((await patch("m", { comment: text })).json.comment, text);
  t.equal((await api("PUT", "m/", { token: admin, body: { name: "Trees" } })).json.comment, undefined);
  await patch("m", { comment: text });
  const tiles = await fetch(`${server.url}/tms/p/m/tile.json`);
  t.match(await tiles.json(), { description: text });
});

t.test("a description is part of the state of the map", async (t) => {
  const before = (await api("GET", "m/")).headers.get("etag")!;
  t.equal((await patch("m", { comment: "New" }, { headers: { "if-match": before } })).status, 200);
  t.equal((await patch("m", { comment: "Late" }, { headers: { "if-match": before } })).status, 412);
  t.equal(await about(), "New");
});

t.test("what is no short text is refused, and who does not administer the map", async (t) => {
  for (const comment of [7, true, {}, ["a"], "x".repeat(2_001)])
    t.match(
      (await patch("m", { comment })).json,
      { code: "invalid_value", data: { parameter: "comment" } },
      `${JSON.stringify(comment).slice(0, 20)}`,
    );
  t.not((await patch("m", { comment: "a\0b" })).status, 200);
  t.equal((await patch("m", { comment: "x".repeat(2_000) })).status, 200);
  await patch("m", { comment: "New" });
  for (const [token, status] of [
    [undefined, 401],
    [viewer, 403],
    [editor, 403],
  ] as const)
    t.equal((await api("PATCH", "m/", { token, body: { comment: "mine" } })).status, status);
  t.equal(await about(), "New");
});

t.test(
  "the list of maps does not grow with longer descriptions, which only the database can have",
  async (t) => {
    await server.sql.query("update map set comment = repeat('я', 100000) where code = 'm'");
    await server.nodes[0]!.services.changes.propagate();
    t.equal(String((await listed("m"))?.description).length, 2_000);
    await patch("m", { comment: "New" });
  },
);

t.test("changes of a description are undone, and it comes back from the bin", async (t) => {
  await patch("m", { comment: "Wrong" });
  const [last] = (await api("GET", "history/?map=m&kind=map&values=1", { token: admin })).json.entries;
  t.match(last, { before: { comment: "New" }, after: { comment: "Wrong" } });
  await api("POST", `history/${last.id}/undo/`, { token: admin, body: {} });
  t.equal(await about(), "New");
  await api("DELETE", "m/", { token: admin });
  const [entry] = (await api("GET", "bin/", { token: admin })).json.entries;
  await api("POST", `bin/${entry.id}/restore/`, { token: admin, body: {} });
  t.equal(await about(), "New");
});

const baseOf = async (map: string): Promise<unknown> => (await api("GET", `${map}/`)).json.base_map ?? null;

t.test("a map has the base map of its project, or one of its own", async (t) => {
  const plain = await api("POST", "", { token: editor, body: { code: "below" } });
  t.notOk("base_map" in plain.json, "a map without one is answered as the contract lists it");
  t.match(await listed("below"), { base: undefined, baseHasNames: undefined });
  const made = await api("POST", "", { token: editor, body: { code: "dark", base_map: "builtin-dark" } });
  t.equal(made.json.base_map, "builtin-dark", made.text);
  t.match(await listed("dark"), { base: "builtin", baseHasNames: true });
  t.equal((await patch("below", { base_map: "builtin-muted" })).json.base_map, "builtin-muted");
  t.match(await listed("below"), { base: "builtin", baseHasNames: false });
  t.equal((await patch("below", { name: "Below" })).json.base_map, "builtin-muted", "PATCH keeps it");
  t.equal((await patch("below", { base_map: "none" })).json.base_map, "none");
  t.match(await listed("below"), { base: "none" });
  t.equal((await patch("below", { base_map: null })).json.base_map, undefined);
  await patch("below", { base_map: "builtin" });
  t.equal((await api("PUT", "below/", { token: admin, body: {} })).json.base_map, undefined, "PUT resets it");
});

t.test("TileJSON and the attribution know the base map of the map", async (t) => {
  const described = async () => (await fetch(`${server.url}/tms/p/below/tile.json`)).json();
  t.match(await described(), { attribution: /Natural Earth/, bounds: [-180, Number, 180, Number] });
  await patch("below", { base_map: "none" });
  t.notMatch(await described(), { attribution: /Natural Earth/ });
});

t.test("what is no name of a base map is refused, and who does not administer the map", async (t) => {
  for (const base_map of ["", "light", "tiles", "https://tile.example.org/{z}/{x}/{y}.png", 1, true, {}, []])
    t.match(
      await patch("below", { base_map }),
      { status: 500, json: { code: "invalid_value", data: { parameter: "base_map" } } },
      JSON.stringify(base_map),
    );
  for (const [token, status] of [
    [undefined, 401],
    [viewer, 403],
    [editor, 403],
  ] as const)
    t.equal((await api("PATCH", "below/", { token, body: { base_map: "builtin" } })).status, status);
  t.equal(await baseOf("below"), "none");
  await t.rejects(
    sql.query("update map set base_map = 'light' where code = 'below'"),
    /map_base_map_check/,
    "in the database, too",
  );
});

t.test("a base map is part of the state of the map, is undone, and comes back from the bin", async (t) => {
  const before = (await api("GET", "below/")).headers.get("etag")!;
  const match = { headers: { "if-match": before } };
  t.equal((await patch("below", { base_map: "builtin-dark" }, match)).status, 200);
  t.equal((await patch("below", { base_map: "builtin" }, match)).status, 412);
  t.equal(await baseOf("below"), "builtin-dark");
  const [last] = (await api("GET", "history/?map=below&kind=map&values=1", { token: admin })).json.entries;
  t.match(last, { before: { base_map: "none" }, after: { base_map: "builtin-dark" } });
  const undone = await api("POST", `history/${last.id}/undo/`, { token: admin, body: {} });
  t.equal(undone.status, 200, undone.text);
  t.equal(await baseOf("below"), "none");
  await api("DELETE", "below/", { token: admin });
  const [entry] = (await api("GET", "bin/", { token: admin })).json.entries;
  await api("POST", `bin/${entry.id}/restore/`, { token: admin, body: {} });
  t.equal(await baseOf("below"), "none");
});
