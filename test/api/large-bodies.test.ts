import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { makeFileLayer } from "./files.support.js";

/** Bodies of objects that are too large to be read on the thread that answers everybody. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");
await makeFileLayer(server, "l");
const objects = "/api/2.8/p/m/layers/l/objects/";

/** How many bodies other threads have read. */
async function readElsewhere(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^mapwright_body_done (\S+)$/m.exec(text)?.[1]);
}

/** White space that makes a small body a large one. */
const padding = " ".repeat(200_000);

async function send(
  method: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { "x-token": token, "content-type": "application/json", ...headers },
    body,
  });
  return { status: answer.status, text: (await answer.text()).replace(/"request":"[^"]*"/, "") };
}

const ring = (count: number) => {
  const positions = Array.from({ length: count }, (_, at) => {
    const angle = (2 * Math.PI * at) / count;
    return [10 + Math.cos(angle), 20 + Math.sin(angle)];
  });
  return { type: "Polygon", coordinates: [[...positions, positions[0]!]] };
};

t.test(
  "a large body is read by another thread, a small one is not, and both are answered alike",
  async (t) => {
    const made = JSON.parse((await send("POST", objects, '{"fields":{"name":"a"}}')).text);
    const one = `${objects}${made.id}/`;
    const point = '{"type":"Point","coordinates":[1,2,3]}';
    for (const [name, method, path, body] of [
      ["a change of fields", "PUT", one, '{"fields":{"name":"b"}}'],
      ["a change of the geometry", "PUT", `${one}?returnGeom=1`, `{"geom":${point}}`],
      ["no geometry", "PUT", `${one}?returnGeom=1`, '{"geom":null}'],
      ["a geometry", "PUT", `${one}geom/`, point],
      ["a geometry in metres", "PUT", `${one}geom/?geomSR=3857`, point],
      ["none", "PUT", `${one}geom/`, "null"],
      ["neither", "PUT", one, "{}"],
      ["no fields", "POST", objects, `{"geom":${point}}`],
      ["fields that are null", "POST", objects, '{"fields":null}'],
      ["an unknown column", "POST", objects, '{"fields":{"no such":1,"nor such":2}}'],
      ["a wrong value", "PUT", one, '{"fields":{"name":[1]}}'],
      ["a wrong geometry", "PUT", `${one}geom/`, '{"type":"Point","coordinates":[1,"2"]}'],
      [
        "a geometry out of range",
        "POST",
        objects,
        '{"fields":{"name":"a"},"geom":{"type":"Point","coordinates":[1,91]}}',
      ],
      ["no object", "POST", objects, "[1]"],
      ["no JSON", "POST", objects, '{"fields":{"name":"a"}'],
      ["half a surrogate pair", "PUT", one, '{"fields":{"name":"\\ud800"}}'],
      ["a number without end", "PUT", one, '{"fields":{"name":1e999}}'],
      ["a wrong parameter", "PUT", `${one}?geomSR=1`, "{}"],
    ] as const) {
      const before = await readElsewhere();
      const small = await send(method, path, body);
      t.equal(await readElsewhere(), before, `${name}: small`);
      const large = await send(method, path, `${body}${padding}`);
      t.strictSame(large, small, name);
      if (name !== "a wrong parameter") t.equal(await readElsewhere(), before + 1, `${name}: large`);
    }
  },
);

t.test("large geometries and texts are stored as they were sent", async (t) => {
  const geom = ring(20_000);
  const name = "жx".repeat(300_000);
  const made = await send("POST", `${objects}?returnGeom=1`, JSON.stringify({ fields: { name }, geom }));
  t.equal(made.status, 200);
  const answered = JSON.parse(made.text);
  t.strictSame(answered.geom, geom);
  t.equal(answered.fields.name, name);
  const got = await fetch(`${server.url}${objects}${answered.id}/?returnGeom=1`);
  t.strictSame(await got.json(), answered);
});

t.test("values of all types may be large", async (t) => {
  const admin = await server.token("admin");
  const structure = "m/layers/l/structure/";
  for (const column of [
    { code: "j", type: "json" },
    { code: "lj", type: "json", localized_value: true },
    { code: "label", type: "text", localized_value: true },
  ])
    t.equal((await server.api("POST", structure, { token: admin, body: column })).status, 200, column.code);
  const long = 'ж"\\\n'.repeat(20_000);
  const json = { list: Array.from({ length: 20_000 }, (_, at) => at / 7), long };
  const fields = { name: "a", j: json, lj: json, label: { en: long, ru: `${long}!` } };
  const made = await send("POST", objects, JSON.stringify({ fields }));
  t.equal(made.status, 200, made.text.slice(0, 200));
  t.match(JSON.parse(made.text).fields, { j: json, lj: json, label: long });
  const { id } = JSON.parse(made.text);
  const changed = await send(
    "PUT",
    `${objects}${id}/?lng=ru`,
    JSON.stringify({ fields: { label: `${long}?`, lj: json } }),
  );
  t.match(JSON.parse(changed.text).fields, { lj: json, label: `${long}?` });
  const other = await send(
    "PUT",
    `${objects}${id}/?lng=en`,
    JSON.stringify({ fields: { j: `text ${long}` } }),
  );
  t.match(JSON.parse(other.text).fields, { j: `text ${long}`, label: long });
});

t.test("a large body that is sent again with its Idempotency-Key is stored once", async (t) => {
  const body = JSON.stringify({ fields: { name: "once" }, geom: ring(10_000) });
  const headers = { "idempotency-key": "large-1" };
  const [first, again] = [
    await send("POST", objects, body, headers),
    await send("POST", objects, body, headers),
  ];
  t.equal(first.status, 200);
  t.strictSame(again, first);
  t.match(await send("POST", objects, body.replace("once", "twice"), headers), {
    status: 500,
    text: /given to another request/,
  });
  const found = await server.api("GET", "m/layers/l/objects/?fields=name&fcode=name&fval=once");
  t.equal(found.json.length, 1);
});
