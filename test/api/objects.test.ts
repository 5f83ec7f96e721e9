import t from "tap";
import { makeFeatures } from "../features/support.js";
import { objectsApi } from "./objects.support.js";

const data = await makeFeatures(
  [
    { code: "name", type: "string", required: true },
    { code: "size", type: "number" },
    { code: "label", type: "string", localized: true },
  ],
  { kind: "Point" },
);
t.teardown(data.close);
const { db, map, layer } = data;
const { call, refusal, sessions, propagated } = objectsApi(db);

for (const [login, role] of [
  ["editor", "editor"],
  ["viewer", "viewer"],
] as const) {
  const [account] = await db.query<{ id: number }>(
    "insert into account (login, password_hash) values ($1, '') returning id",
    [login],
  );
  await db.execute("insert into membership (project_id, account_id, role) values ($1, $2, $3)", [
    map.project.id,
    account?.id,
    role,
  ]);
  sessions.set(login, { accountId: account?.id ?? 0, login, projectId: map.project.id, origin: "api" });
}
const token = "editor";
const point = (x: number, y: number) => ({ type: "Point", coordinates: [x, y] });

t.test("an object is created, read, listed, changed and deleted", async (t) => {
  const made = (await call("POST", "l/objects/", {
    token,
    query: "returnGeom=1&returnBbox=1",
    body: { fields: { name: "a", size: 2 }, geom: point(10, 20) },
  })) as { id: number };
  const whole = { id: made.id, fields: { svc_id: made.id, name: "a", size: 2, label: null } };
  const box = { sw: [20, 10], ne: [20, 10] };
  t.strictSame(made, { ...whole, geom: point(10, 20), bbox: box });
  t.match(propagated.pop(), /^\d+$/);
  const path = `l/objects/${made.id}/`;
  t.strictSame(await call("GET", path), whole);
  t.strictSame(await call("GET", path, { query: "returnGeom=1&returnBbox=1" }), {
    ...whole,
    geom: point(10, 20),
    bbox: box,
  });
  t.strictSame(await call("GET", "l/objects/"), [{ id: made.id }]);
  t.strictSame(await call("GET", "l/objects/", { query: "fields=name,size&fcode=size&fval=2&limit=10" }), [
    { id: made.id, fields: { name: "a", size: 2 } },
  ]);
  t.strictSame(await call("GET", "l/count/"), 1);
  t.strictSame(await call("GET", "l/count/", { query: "precise=true" }), 1);
  t.match(await call("PUT", path, { token, query: "lng=en", body: { fields: { size: null, label: "L" } } }), {
    fields: { name: "a", size: null, label: "L" },
  });
  t.strictSame(await call("GET", `${path}geom/`, { token }), point(10, 20));
  t.match(
    await call("PUT", `${path}geom/`, { token, query: "geomSR=3857", body: point(1113194.907933, 0) }),
    {
      type: "Point",
      coordinates: [1113194.907933, 0],
    },
  );
  t.match(await call("PUT", path, { token, body: { geom: null }, query: "returnGeom=1" }), { geom: null });
  t.strictSame(await call("GET", `${path}geom/`, { token }), null);
  t.equal(await call("DELETE", path, { token }), true);
  t.equal(propagated.length, 4);
  t.strictSame(await call("GET", path), { id: made.id, fields: {} });
});

t.test("lists take their parameters from the query or a body", async (t) => {
  for (const [name, x] of [
    ["b", 170],
    ["c", -170],
    ["a", 0],
  ] as const) {
    await call("POST", "l/objects/", { token, body: { fields: { name }, geom: point(x, 0) } });
  }
  const names = (list: unknown) =>
    (list as { fields: { name: string } }[]).map((item) => item.fields.name).join("");
  t.equal(names(await call("GET", "l/objects/", { query: "fields=name&sort=name,d" })), "cba");
  t.equal(
    names(await call("POST", "l/filter/", { body: { fields: ["name"], sort: "name", limit: 2 } })),
    "ab",
  );
  t.equal(
    names(await call("GET", "l/objects/", { query: "fields=name&sort=name&fbbox=-1,160,1,-160" })),
    "bc",
  );
  t.equal(
    names(
      await call("POST", "l/filter/", { body: { fields: "name", fbbox: "-1,-1e6,1,1e6", bboxSR: 3857 } }),
    ),
    "a",
  );
  t.match(await call("GET", "l/objects/", { query: "format=geojson&fields=name&sort=name&limit=1" }), {
    type: "FeatureCollection",
    features: [{ type: "Feature", geometry: point(0, 0), properties: { name: "a" } }],
  });
  t.match(await call("GET", "l/objects/", { query: "format=geojson" }), { features: { length: 3 } });
  t.strictSame(await call("GET", "l/objects/", { query: "fields=*&fcode=name&fval=%27%20OR%201%3D1--" }), []);
  t.strictSame(await call("GET", "l/objects/", { query: "limit=1e12&offset=1000000000" }), []);
});

t.test("what cannot be read as a request is refused", async (t) => {
  const bad: string[] = [
    "fbbox=NaN,0,1,1",
    "fbbox=1e400,0,1,1",
    "fbbox=1,2,3,4,5",
    "bboxSR=0",
    "geomSR=1",
    "limit=-1",
    "limit=x",
    "offset=1.5",
    "geomZoom=99",
    "returnGeom=2",
    "sort=name,x",
  ];
  for (const query of bad) t.equal(await refusal("GET", "l/objects/", { query }), "bad_request", query);
  const executed: [string, string][] = [
    ["fields=name;drop", "unknown_column"],
    ["sort=(select 1)", "unknown_column"],
    ["fields=*&fcode=1=1&fval=1", "unknown_column"],
    ["fields=name&fcode=size&fval=1", "filter_column_not_listed"],
    ["fcode=size&fval=1", "filter_column_not_listed"],
    ["format=xml", "invalid_format"],
  ];
  for (const [query, code] of executed) t.equal(await refusal("GET", "l/objects/", { query }), code, query);
  t.equal(await refusal("GET", "l/objects/x/"), "bad_request");
  t.equal(await refusal("GET", "l/objects/1%20or%201/"), "bad_request");
  t.equal(await refusal("GET", "nope/objects/"), "not_found");
  t.equal(await refusal("GET", "__proto__/objects/"), "not_found");
});

t.test("writes that cannot be done change nothing", async (t) => {
  const before = await call("GET", "l/objects/", { query: "fields=*&returnGeom=1" });
  propagated.length = 0;
  const cases: [unknown, string][] = [
    [{}, "required_parameters"],
    [{ fields: {} }, "invalid_value"],
    [{ fields: { name: "x", size: "y" } }, "invalid_value"],
    [{ fields: { name: "x", other: 1 } }, "unknown_column"],
    [
      {
        fields: { name: "x" },
        geom: {
          type: "LineString",
          coordinates: [
            [0, 0],
            [1, 1],
          ],
        },
      },
      "invalid_geometry",
    ],
    [{ fields: { name: "x" }, geom: point(0, 95) }, "invalid_geometry"],
    [[1], "bad_request"],
  ];
  for (const [body, code] of cases) {
    t.equal(await refusal("POST", "l/objects/", { token, body }), code, JSON.stringify(body));
  }
  t.equal(await refusal("PUT", "l/objects/123456/", { token, body: { fields: { name: "x" } } }), "not_found");
  t.equal(await refusal("PUT", "l/objects/123456/", { token, body: {} }), "required_parameters");
  t.equal(await refusal("PUT", "l/objects/123456/geom/", { token, body: point(0, 0) }), "not_found");
  t.equal(
    await refusal("PUT", "l/objects/123456/geom/", { token, body: { type: "Point" } }),
    "invalid_geometry",
  );
  t.equal(await refusal("GET", "l/objects/123456/geom/", { token }), "not_found");
  t.equal(await refusal("DELETE", "l/objects/123456/", { token }), "not_found");
  t.same(await call("GET", "l/objects/", { query: "fields=*&returnGeom=1" }), before);
  t.equal(propagated.length, 0);
});

t.test("rights decide, before anything is told", async (t) => {
  const writes: ["POST" | "PUT" | "DELETE", string, unknown][] = [
    ["POST", "l/objects/", { fields: { name: "x" } }],
    ["PUT", "l/objects/1/", { fields: { name: "x" } }],
    ["PUT", "l/objects/1/geom/", point(0, 0)],
    ["DELETE", "l/objects/1/", undefined],
    ["DELETE", "nope/objects/1/", undefined],
  ];
  for (const [method, path, body] of writes) {
    t.equal(await refusal(method, path, { body }), "unauthenticated", `${method} ${path}`);
    t.equal(
      await refusal(method, path, { body, token: "made-up" }),
      "unauthenticated",
      `${method} ${path} made up`,
    );
    t.equal(
      await refusal(method, path, { body, token: "viewer" }),
      "forbidden",
      `${method} ${path} as viewer`,
    );
  }
  t.equal(await refusal("GET", "l/objects/1/geom/"), "unauthenticated");
  const reads: ["GET" | "POST", string][] = [
    ["GET", "l/objects/"],
    ["POST", "l/filter/"],
    ["GET", "l/objects/1/"],
    ["GET", "l/count/"],
  ];
  const all = async (token?: string) => {
    const found = new Set<string>();
    for (const [method, path] of reads) found.add(await refusal(method, path, token ? { token } : {}));
    return [...found].join();
  };
  t.equal(await all(), "none");
  await db.execute(
    "insert into access_grant (project_id, map_id, layer_id, account_id, rights) values ($1, $2, $3, null, 0)",
    [map.project.id, map.id, layer.id],
  );
  t.equal(await all(), "forbidden", "a layer hidden from the public");
  t.equal(await all("viewer"), "none");
  await db.execute("delete from access_grant");
  await db.execute("update map set has_publication = false");
  t.equal(await all(), "forbidden", "an unpublished map");
  t.equal(await refusal("GET", "nope/objects/"), "forbidden");
  t.equal(await all("viewer"), "none");
  sessions.set("stranger", { accountId: 1, login: "s", projectId: map.project.id + 1, origin: "api" });
  t.equal(await all("stranger"), "forbidden");
  await db.execute("update map set has_publication = true");
  t.equal(await refusal("GET", "/api/2.8/other/m/layers/l/objects/"), "project_not_found");
});
