import t from "tap";
import { ObjectStore } from "../../src/viewer/browser/console/objects/object-store.js";
import { Operations } from "../../src/viewer/browser/console/operations.js";
import { startServer } from "../support/server.js";

/** Objects with values in several languages, as the console reads and saves them, while others change them. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });
await api("POST", "", { code: "m" });
await api("POST", "m/layers/", { code: "a" });
await api("POST", "m/layers/a/structure/", { code: "title", type: "string", localized_value: true });
await api("POST", "m/layers/a/structure/", { code: "note", type: "text" });
const columns = (await api("GET", "m/layers/a/structure/")).json;

/** @param send sends a request when it is time */
const storeWith = (
  send: (go: () => Promise<Response>, method: string, address: string) => Promise<Response>,
) =>
  new ObjectStore(
    new Operations({ of: () => ({ login: "admin", token }) }, () => Promise.resolve(false), {
      headers: () => ({}),
      fetch: (address, init) => send(() => fetch(`${server.url}/${address}`, init), init.method!, address),
    }),
    { project: "p", map: "m" },
    "a",
    ["en", "ru"],
    columns,
  );
const change = (id: number, fields: object) => api("PUT", `m/layers/a/objects/${id}/?lng=en`, { fields });
const made = async (): Promise<number> =>
  (
    await api("POST", "m/layers/a/objects/?lng=en", {
      fields: { title: { en: "one", ru: "один" }, note: "n" },
    })
  ).json.id;

t.test("what others make of an object after it is saved is not what was saved", async (t) => {
  const id = await made();
  const plain = storeWith((go) => go());
  const base = (await plain.read(id))!;
  const store = storeWith(async (go, method) => {
    if (method === "GET") await change(id, { note: "theirs" });
    return go();
  });
  const sent = { key: "k1", change: { fields: { title: { en: "two", ru: "один" } } }, match: base.etag };
  const saved = await store.save(id, sent);
  t.same(saved.fields.title, { en: "two", ru: "один" });
  t.equal(saved.fields.note, "n");
  t.not(saved.etag, (await plain.read(id))?.etag);
  t.equal((await plain.read(id))?.fields.note, "theirs");
});

t.test("an object is of one version in all languages", async (t) => {
  const id = await made();
  let main: Promise<Response> | undefined;
  let isChanged = false;
  const store = storeWith(async (go, _, address) => {
    if (!address.includes("lng=ru")) {
      main = go();
      return main;
    }
    // Between the questions for the two languages.
    await main;
    if (!isChanged) await change(id, { title: { en: "new", ru: "новый" } });
    isChanged = true;
    return go();
  });
  t.same((await store.read(id))?.fields.title, { en: "new", ru: "новый" });
});
