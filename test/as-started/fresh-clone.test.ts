import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import t from "tap";
import { bareEnvironment, makeClone, run, start } from "./installation.js";
import { operatorsIcon } from "./steps/pictures.js";
import { walk } from "./walk.js";

/** A fresh clone, started by the README's first command with nothing set. */

// The walk is one test, so all of it counts against the time of a file.
t.setTimeout(1_200_000);
const folder = await makeClone();
const env = bareEnvironment(dirname(folder));
await mkdir(join(folder, "data/icons"), { recursive: true });
await writeFile(join(folder, `data/icons/${operatorsIcon.name}.svg`), operatorsIcon.svg);
const server = await start(["npm", "start", "--", "--port", "0"], { cwd: folder, env });
t.teardown(async () => {
  await server.stop();
  await rm(dirname(folder), { recursive: true, force: true });
});

t.test("a fresh clone", async (t) => {
  await t.test("it tells where it is, and the sign-in of the demo", async (t) => {
    const signIn = /Sign in to the project demo with.*\n\s*(\S+)\s+(\S+)/.exec(server.told());
    t.ok(signIn, server.told());
    const [, user = "", pass = ""] = signIn ?? [];
    const answer = await fetch(`${server.url}/api/2.8/demo/login/`, {
      method: "POST",
      body: new URLSearchParams({ user, pass }),
    });
    t.equal(answer.status, 200);
  });

  await t.test("npx finds its command", async (t) => {
    const { stdout } = await run(["npx", "mapwright", "project", "list"], { cwd: folder, env });
    t.match(stdout.toString(), /demo/);
  });

  await walk(
    t,
    {
      url: server.url,
      folder,
      env,
      command: [join(folder, "node_modules/.bin/mapwright")],
      told: server.told,
      externalHosts: [],
    },
    { all: true },
  );

  await t.test("it stops when it is told to", async (t) => {
    t.equal(await server.stop(), 0);
    t.notMatch(server.told(), /"level":[56]0/, "and has logged no error");
  });
});
