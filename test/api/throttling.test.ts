import t from "tap";
import { startServer } from "../support/server.js";

const server = await startServer({
  nodes: 2,
  config: {
    trustedProxies: ["127.0.0.1"],
    "login.failuresPerLoginAndAddress": 3,
    "login.failuresPerAddress": 7,
    "login.failuresPerLogin": 9,
  },
});
t.teardown(() => server.stop());

const login = (user: string, pass: string, address: string, node = 0) =>
  server.api("POST", "login/", { body: { user, pass }, node, headers: { "x-forwarded-for": address } });

t.test(
  "after too many failures a login is refused at that address, on every node, right or not",
  async (t) => {
    const wrong = await login("editor", "no", "192.0.2.1");
    t.equal(wrong.status, 403);
    t.equal(wrong.headers.get("retry-after"), null);
    await login("editor", "no", "192.0.2.1", 1);
    await login("editor", "no", "192.0.2.1");
    for (const node of [0, 1]) {
      const refused = await login("editor", "editoreditor", "192.0.2.1", node);
      t.equal(refused.status, 403);
      t.match(refused.headers.get("retry-after"), /^[1-9]\d*$/);
      t.equal(refused.text, wrong.text, "nothing but the header tells it from a wrong password");
    }
    t.equal((await login("editor", "editoreditor", "192.0.2.2")).status, 200, "the user comes in elsewhere");
  },
);

t.test("an unknown login is throttled like a known one", async (t) => {
  for (let i = 0; i < 3; i++) {
    const answer = await login("nobody", "no", "192.0.2.3");
    t.equal(answer.status, 403);
    t.equal(answer.headers.get("retry-after"), null);
  }
  t.ok((await login("nobody", "no", "192.0.2.3")).headers.has("retry-after"));
});

t.test("a right password begins the count anew", async (t) => {
  for (let round = 0; round < 2; round++) {
    await login("viewer", "no", "192.0.2.4");
    await login("viewer", "no", "192.0.2.4");
    t.equal((await login("viewer", "viewerviewer", "192.0.2.4")).status, 200);
  }
  for (let i = 0; i < 3; i++) await login("viewer", "no", "192.0.2.4");
  t.ok((await login("other", "no", "192.0.2.4")).headers.has("retry-after"), "but not that of the address");
});

t.test("a login that is guessed from everywhere stays open where its user was before", async (t) => {
  t.equal((await login("admin", "adminadmin", "198.51.100.1")).status, 200);
  for (let i = 0; i < 9; i++) await login("admin", "no", `203.0.113.${i}`);
  t.ok((await login("admin", "adminadmin", "203.0.113.200")).headers.has("retry-after"));
  t.equal((await login("admin", "adminadmin", "198.51.100.1")).status, 200);
});

t.test("what is missing is no guess", async (t) => {
  for (let i = 0; i < 10; i++) {
    const answer = await server.api("POST", "login/", {
      body: { user: "viewer" },
      headers: { "x-forwarded-for": "192.0.2.9" },
    });
    t.equal(answer.status, 500);
  }
  t.equal((await login("viewer", "viewerviewer", "192.0.2.9")).status, 200);
});
