import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { project, type Step } from "../world.js";

/** What clients rely on, whatever they ask for: retries, pages, filters, and being told of what is misspelt. */

const objects = "trees/layers/trees/objects/";

/** On the map `trees`, which has two objects. */
export const requestSteps: readonly Step[] = [
  {
    name: "a request that is sent again is done once",
    also: true,
    walk: async (t, world) => {
      const headers = { "idempotency-key": randomUUID() };
      const create = { body: { fields: { species: "Beech", height: 9 } }, headers };
      const first = (await world.api("POST", objects, create)).json;
      t.same((await world.api("POST", objects, create)).json, first);
      t.equal((await world.api("GET", "trees/layers/trees/count/?precise=true")).json, 3);
      const another = { body: { fields: { species: "Yew" } }, headers, status: 500 };
      t.match((await world.api("POST", objects, another)).json, { code: "invalid_value" });
      const leave = { headers: { "idempotency-key": randomUUID() } };
      for (let time = 0; time < 2; time++)
        t.equal((await world.api("DELETE", `${objects}${first.id}/`, leave)).json, true);
    },
  },
  {
    name: "lists in pages, and with a filter",
    also: true,
    walk: async (t, world) => {
      const page = async (path: string) => {
        const { json, headers } = await world.api("GET", path);
        return { species: json.map(({ fields }: any) => fields.species), headers };
      };
      const first = await page(`${objects}?fields=species&limit=1&count=1`);
      t.same(first.species, ["Oak"]);
      t.equal(first.headers.get("x-total-count"), "2");
      const [, next = ""] = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "")!;
      const second = await world.ask("GET", next);
      t.match(second.json, [{ fields: { species: "Lime" } }]);
      t.equal(second.headers.get("link"), null, "it is the last one");
      t.same((await page(`${objects}?fields=species&sort=species&limit=1&offset=1`)).species, ["Oak"]);
      const filter = encodeURIComponent("height >= 25 and species like 'L%'");
      t.same((await page(`${objects}?fields=species&filter=${filter}`)).species, ["Lime"]);
      t.same((await page(`${objects}?fields=species&fbbox=52.51,13.37,52.52,13.3775`)).species, ["Oak"]);
    },
  },
  {
    name: "what is misspelt is named",
    also: true,
    walk: async (t, world) => {
      const body = { parent_id: 0, css_stile: "", nmae: "Trees" };
      const changed = await world.api("PATCH", "trees/layers/trees/", { body });
      t.equal(changed.headers.get("x-ignored"), "css_stile, nmae");
      const listed = await world.api("GET", `${objects}?fitler=height>25`);
      t.equal(listed.headers.get("x-ignored"), "fitler");
      t.equal(listed.json.length, 2);
      const unknown = await world.api("GET", `${objects}?filter=hight>25`, { status: 500 });
      t.match(unknown.json, { code: "unknown_column", message: /did you mean height\?/ });
      for (const [args, status, said] of [
        [["map", "create", project, "park", "--nmae", "Park"], 2, /--nmae[\s\S]*Did you mean --name\?/],
        [["map", "crate", project, "park"], 2, /crate[\s\S]*Did you mean create\?/],
        [["layer", "delete", project, "trees", "tees", "--yes"], 1, /did you mean trees\?/],
      ] as const)
        t.match(await world.tried(args), { status, stderr: said }, args.join(" "));
    },
  },
  {
    name: "HTTP/1.0 is refused, with the reason",
    walk: async (t, world) => {
      const { hostname, port, host } = new URL(world.url);
      const socket = connect(Number(port), hostname);
      socket.write(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
      const answer = await text(socket);
      t.match(answer, /^HTTP\/1\.1 505 /);
      t.match(answer, /does not support HTTP\/1\.0/);
    },
  },
];
