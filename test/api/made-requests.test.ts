import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { SignJWT } from "jose";
import sharp from "sharp";
import t from "tap";
import { createProject } from "../../src/catalog/projects.js";
import { bodyOf } from "../support/answers.js";
import { blockFont } from "../support/fonts.js";
import { square } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { zipOf } from "../support/zip.js";
import { type Known, type MadeRequest, RequestMaker, random, type Schema } from "./made-requests.support.js";
import { line } from "./rights-table.support.js";

/**
 * Requests made from the API's description are sent to every operation: right ones and damaged ones. What comes back is
 * what the description says: its statuses, its codes, its answers.
 */

const rounds = { right: 10, damaged: 24 };

const keysDir = await mkdtemp(join(tmpdir(), "mapwright-keys-"));
const secret = randomBytes(32).toString("base64url");
await mkdir(join(keysDir, "p"));
await writeFile(join(keysDir, "p", "other.secret"), secret);
const server = await startServer({
  config: { "external.keysDir": keysDir, "exports.tiles": 50, "links.privateAddresses": true },
});
t.teardown(async () => {
  await server.stop();
  await rm(keysDir, { recursive: true });
});
const external = await new SignJWT({ sub: "viewer" })
  .setProtectedHeader({ alg: "HS256" })
  .setAudience("p")
  .setExpirationTime("1h")
  .sign(Buffer.from(secret));
const admin = await server.token("admin");
const viewer = await server.token("viewer");
await server.sql.query("update account set is_operator = true where login = 'admin'");
// What is made up for it may be too little for what others make.
await createProject(server.nodes[0]!.services.db, { code: "spare" });
const document: Schema = await (await fetch(`${server.url}/openapi.json`)).json();
const png = await sharp({ create: { width: 20, height: 10, channels: 3, background: "#c00" } })
  .png()
  .toBuffer();

const pictureFile = new File([png], "red.png", { type: "image/png" });
const fontFile = new File([new Uint8Array(blockFont({ family: "Made" }))], "a.otf", { type: "font/otf" });
const pictureArchive = new File([await zipOf({ "red.png": png })], "pictures.zip", {
  type: "application/zip",
});

const ajv = new Ajv2020({ strict: false, allErrors: false });
addFormats.default(ajv);
ajv.addSchema(document, "api");
const pointer = (...parts: string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");

async function made(method: string, path: string, body?: unknown): Promise<any> {
  const answer = await server.api(method, path, { token: admin, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}

const feature = (geometry: unknown) => ({ type: "Feature", properties: { s: "z", new: 1 }, geometry });
const collection = (...geometries: unknown[]) =>
  JSON.stringify({ type: "FeatureCollection", features: geometries.map(feature) });
const data = new File([collection({ type: "Point", coordinates: [7, 8] })], "data.geojson");
const damagedData = new File(
  [collection({ type: "Point", coordinates: [7, "x"] }).slice(0, -3)],
  "data.geojson",
);

/** Codes of the maps whose font is there. */
const oldFonts: string[] = [];

/** A map of its own with one of everything, and names for all of it. */
async function makeWorld(code: string): Promise<Known> {
  const map = await made("POST", "", { code, name: "World" });
  const folder = await made("POST", `${code}/folders/`, { code: "f", name: "Folder" });
  const layer = await made("POST", `${code}/layers/`, { code: "a", name: "Layer" });
  for (const column of [
    { code: "s", type: "string", name: "Text" },
    { code: "n", type: "number" },
    { code: "d", type: "datetime" },
    { code: "l", type: "text", localized_value: true },
    { code: "pic", type: "file" },
  ]) {
    await made("POST", `${code}/layers/a/structure/`, column);
  }
  const geom = { type: "Point", coordinates: [3, 4] };
  const object = await made("POST", `${code}/layers/a/objects/`, { fields: { s: "x", n: 1 }, geom });
  const areas = [];
  for (const lon of [0, 10]) {
    const body = { fields: { s: "x", n: 1 }, geom: square(lon, 0, 10) };
    areas.push(await made("POST", `${code}/layers/a/objects/`, body));
  }
  const form = new FormData();
  form.set("field", "pic");
  form.set("file", new File([png], "red.png"));
  const attached = await fetch(
    `${server.url}/api/2.8/p/${code}/layers/a/objects/${object.id}/files/?token=${admin}`,
    { method: "POST", body: form },
  );
  const file: any = await attached.json();
  const job = await server.sql.query(
    `insert into import_job (id, account_id, project_id, layer_id)
     select gen_random_uuid(), a.id, p.id, $1 from account a, project p where a.login = 'admin' and p.code = 'p' returning id`,
    [layer.id],
  );
  const picture = await fetch(`${server.url}/api/2.8/p/pictures/${code}.png?token=${admin}`, {
    method: "PUT",
    body: png,
  });
  if (picture.status !== 200) throw new Error(await picture.text());
  const font = await fetch(`${server.url}/api/2.8/p/fonts/${code}.otf?token=${admin}`, {
    method: "PUT",
    body: new Uint8Array(blockFont({ family: "Made" })),
  });
  if (font.status !== 200) throw new Error(await font.text());
  // A project has at most a hundred.
  if (oldFonts.length === 50)
    await fetch(`${server.url}/api/2.8/p/fonts/${oldFonts.shift()}.otf?token=${admin}`, { method: "DELETE" });
  oldFonts.push(code);
  await made("POST", `${code}/layers/`, { code: "gone" });
  await made("DELETE", `${code}/layers/gone/`);
  const bin = await made("GET", "bin/?limit=1");
  const done = await made("GET", `${code}/layers/a/history/?limit=1`);
  await made("PATCH", `${code}/layers/a/`, { parent_id: 0, name: "A" });
  const named = await made("GET", "history/?limit=1");
  const key = await made("POST", "keys/", { name: code });
  const member = await made("POST", "members/", { login: code, password: "correct-horse" });
  const { invitation } = await made("POST", `members/${member.id}/invitation/`);
  await made("POST", `${code}/layers/`, { code: "mat", type: "material", source: { layer: "a" } });
  // No other layer is made from this one.
  await made("POST", `${code}/layers/a/structure/`, { code: "spare", type: "text" });
  await made("PUT", `${code}/layers/a/visualization/`, { visualSettings: { type: 2, columnCode: "s" } });
  return {
    project: ["p"],
    map: [code],
    folder: ["f"],
    layer: ["a", "mat"],
    column: ["s"],
    object: [object.id],
    area: areas.map(({ id }) => id),
    file: [String(file.id), new File([png], "red.png")],
    uuid: [file.uuid],
    job: [job.rows[0].id],
    lasting: [key.id],
    member: [member.id],
    invitation: [invitation],
    done: [done.entries[0].id],
    entry: [bin.entries[0].id],
    named: [named.entries[0].id],
    user: ["viewer"],
    pass: ["viewerviewer"],
    login: ["viewer"],
    code: ["new", "s", "a"],
    name: ["Name", { en: "Name", ru: "Имя" }],
    parent_id: [map.id, folder.id, 0],
    id: [1, 2],
    map_layer_id: [layer.id],
    fields: ["*", "s,n", { s: "y", n: 2.5 }, { l: { en: "a" }, d: "2024-05-06T07:08:09Z" }],
    geom: [geom, null],
    type: ["Point"],
    coordinates: [[5, 6]],
    fcode: ["s"],
    fval: ["x"],
    sort: ["s,a|n,d", 1],
    fbbox: ["0,0,10,10"],
    point: ["5.5,5.5"],
    start_view: [[3, 4, 5.5, 6], null],
    base_map: ["builtin-dark", null],
    most_bytes: [10 ** 12, null],
    zoom: [0, 12],
    field: ["pic"],
    phrase: ["x", "layer"],
    search_column: ["s"],
    name_column: ["s"],
    columns: [["s"]],
    definition: [["x", "y"]],
    srs: ["4326", "EPSG:3857"],
    action: ["2"],
    format: ["geojson"],
    visualSettings: [{ type: 2, columnCode: "s" }],
    vectorSettings: [{ minZoom: 3 }],
    // Taken as a parameter by ext-login alone; sessions' tokens are in a header here.
    token: [external],
    x: [0],
    y: [0],
    z: [0],
    path: [`${code}.png`],
    seconds: [60],
  };
}

const column = (type: string): Known => ({ type: [type], sort: [1], format: [], parent_id: [0] });

/** Names that mean something else to one operation. */
const special: Readonly<Record<string, (world: Known) => Known>> = {
  "GET /api/2.8/{project}/image/{file}/": (world) => ({ file: world.uuid! }),
  "GET /tms/{project}/{map}/{z}/{x}/{tile}": () => ({ tile: ["0.png", "0@2x.png", "0.mvt"] }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/refresh/": () => ({ layer: ["mat"] }),
  "POST /api/2.8/{project}/{map}/layers/": () => ({ type: ["layer", "virtual"] }),
  "DELETE /api/2.8/{project}/{map}/layers/{layer}/": () => ({ layer: ["mat"] }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/structure/": () => column("number"),
  "PUT /api/2.8/{project}/{map}/layers/{layer}/structure/{column}/": () => column("text"),
  "PATCH /api/2.8/{project}/{map}/layers/{layer}/structure/{column}/": () => column("text"),
  "DELETE /api/2.8/{project}/{map}/layers/{layer}/structure/{column}/": () => ({ column: ["spare"] }),
  "GET /api/2.8/{project}/{map}/layers/": () => ({ type: ["publish", "full"] }),
  "PUT /api/2.8/{project}/{map}/layers/{layer}/constraints/": () => ({ type: ["enum"] }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/import/": () => ({
    file: [data, damagedData],
    columns: ['{"new": {"type": "text", "name": "newer"}}', '{"s": null}', '{"new": 1}'],
    // The file has places of its own.
    coordinates: ["", '["s", "new"]'],
    "": [data, damagedData],
  }),
  "GET /api/2.8/{project}/{map}/layers/{layer}/import/{job}/": () => ({ layer: ["a"] }),
  "DELETE /api/2.8/{project}/{map}/layers/{layer}/import/{job}/": () => ({ layer: ["a"] }),
  // What this server itself has stands for a file of another one.
  "POST /api/2.8/{project}/link/": () => ({ url: [`${server.url}/health/live`] }),
  "POST /api/2.8/{project}/pictures/": () => ({ file: [pictureArchive], "": [pictureArchive] }),
  "PUT /api/2.8/{project}/pictures/{path}": () => ({ file: [pictureFile], "": [pictureFile] }),
  "PUT /api/2.8/{project}/fonts/{path}": () => ({
    path: ["made.otf"],
    file: [fontFile],
    "": [fontFile],
  }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/history/{entry}/undo/": ({ done }) => ({
    layer: ["a"],
    entry: done!,
  }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/objects/{object}/split/": ({ area }) => ({
    layer: ["a"],
    object: area!,
    line: [line],
  }),
  "POST /api/2.8/{project}/{map}/layers/{layer}/objects/merge/": ({ area }) => ({
    layer: ["a"],
    ids: [area!],
  }),
  "POST /api/2.8/{project}/history/{entry}/undo/": ({ named }) => ({ entry: named! }),
  "DELETE /api/2.8/{project}/keys/{id}/": ({ lasting }) => ({ id: lasting! }),
  "POST /installation/projects/": (world) => ({
    code: [`${world.map![0]}project`],
    languages: [["en", "ru"]],
    administrator: ["olga"],
  }),
  "PATCH /installation/projects/{code}/": () => ({
    code: ["spare"],
    name: ["Name"],
    administrator: ["olga"],
  }),
  "POST /api/2.8/{project}/members/": (world) => ({
    login: [`${world.map![0]}new`],
    password: ["correct-horse"],
  }),
  "PATCH /api/2.8/{project}/members/{member}/": ({ map }) => ({
    grants: [[{ map: map![0], layer: "a", rights: 3 }]],
  }),
  "POST /api/2.8/{project}/invitation/": (world) => ({
    invitation: world.invitation!,
    password: ["correct-horse-2"],
  }),
  "DELETE /api/2.8/{project}/fonts/{path}": ({ map }) => ({ path: [`${map![0]}.otf`] }),
  "GET /api/2.8/{project}/{map}/export/": () => ({
    format: ["pmtiles", "mbtiles"],
    minzoom: [0],
    maxzoom: [1, 2],
  }),
  "PUT /api/2.8/{project}/{map}/search/settings/": () => ({ layer: ["a"] }),
  "POST /api/2.8/{project}/{map}/publish/": () => ({ parent_id: [0, 1] }),
  "PUT /api/2.8/{project}/{map}/": ({ map }) => ({ code: map! }),
  "PATCH /api/2.8/{project}/{map}/": ({ map }) => ({ code: map! }),
  "POST /api/2.8/{project}/": (world) => ({ code: [`${world.map![0]}new`] }),
};

const tokenOf = (share: number): string | undefined =>
  share < 0.75 ? admin : share < 0.87 ? viewer : share < 0.95 ? undefined : "made-up";

async function send(method: string, request: MadeRequest, token: string | undefined) {
  const answer = await fetch(`${server.url}${request.path}`, {
    method,
    headers: { ...request.headers, ...(token === undefined ? {} : { "x-token": token }) },
    ...(request.body === undefined ? {} : { body: request.body as any }),
  });
  return { status: answer.status, headers: answer.headers, bytes: await bodyOf(answer) };
}

/** Of the library that checks values, where nothing of ours has been said. */
const wordsOfSchemas =
  /Invalid (input|option|string|key|element|number|UUID|discriminator)|Too (small|big): |expected \w+, received/i;

/** Why an answer is not what the description says; undefined when it is. */
function objection(
  operation: { path: string; method: string; responses: Schema },
  { status, headers, bytes }: Awaited<ReturnType<typeof send>>,
): string | undefined {
  const response = operation.responses[String(status)];
  const text = bytes.toString("utf8");
  if (status >= 400 && wordsOfSchemas.test(text)) return `the words of a schema, not of a person: ${text}`;
  if (!response) return `status ${status} is not described: ${text.slice(0, 300)}`;
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]!;
  if (!response.content) return bytes.length === 0 ? undefined : "an answer without a body has one";
  const schema = response.content[type] ?? response.content["*/*"];
  if (!schema) return `content type ${type} is not described for ${status}`;
  if (type !== "application/json" && type !== "application/geo+json") return undefined;
  const value = JSON.parse(text);
  if (value?.code === "internal") return `an unexpected error: ${text}`;
  const at = pointer("paths", operation.path, operation.method, "responses", String(status), "content", type);
  const validate = ajv.getSchema(`api#/${at}/schema`)!;
  if (validate(value)) return undefined;
  return `${status} is not by its schema: ${ajv.errorsText(validate.errors)} in ${text.slice(0, 600)}`;
}

let count = 0;
for (const [path, methods] of Object.entries<Schema>(document.paths)) {
  for (const [method, operation] of Object.entries<Schema>(methods)) {
    const verb = method.toUpperCase();
    t.test(`${verb} ${path} answers made requests as it is described`, async (t) => {
      const next = random(++count);
      const world = await makeWorld(`w${count}`);
      const known = { ...world, ...special[`${verb} ${path}`]?.(world) };
      const maker = new RequestMaker(document, next, known);
      const described = { path, method, responses: operation.responses };
      /** Sends one request, and takes note of what is wrong with its answer. */
      const wrong: string[] = [];
      const ask = async (damage: 0 | 1 | 2, token: string | undefined) => {
        const request = maker.request(path, operation, damage);
        const answer = await send(verb, request, token);
        const why = objection(described, answer);
        if (why) wrong.push(`${verb} ${request.path.slice(0, 400)} ${bodyText(request)}: ${why}`);
        return answer;
      };
      // A session that is ended here would be missing in what follows.
      const ends = path.endsWith("/logout/");
      const whole = await ask(
        0,
        ends ? await freshToken() : path.endsWith("/ext-login/") ? undefined : admin,
      );
      t.equal(whole.status, 200, whole.bytes.toString("utf8").slice(0, 500));
      for (let round = 0; round < rounds.right + rounds.damaged; round++) {
        await ask(round < rounds.right ? 1 : 2, ends ? "made-up" : tokenOf(next()));
      }
      t.same(wrong.slice(0, 5), [], `${wrong.length} answers are not as described`);
      t.equal((await fetch(`${server.url}/health/ready`)).status, 200);
    });
  }
}

async function freshToken(): Promise<string> {
  const answer = await server.api("POST", "login/", { body: { user: "viewer", pass: "viewerviewer" } });
  return answer.json.token;
}

const bodyText = ({ body }: MadeRequest): string => (typeof body === "string" ? body.slice(0, 400) : "");
