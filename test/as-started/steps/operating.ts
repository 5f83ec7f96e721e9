import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { square } from "../../support/maps.js";
import { login, type Step, type World } from "../world.js";

/** What operators do: health, metrics, descriptions, and every command. */

/** One use of each command; the order is that of the walk. */
const uses: Readonly<Record<string, (world: World) => Promise<string>>> = {
  help: (world) => typed(world, "help", "project"),
  serve: async (world) => world.at.told(),
  "project create": (world) => typed(world, "project", "create", "second", "--name", "Second", "--json"),
  "project list": (world) => typed(world, "project", "list", "--json"),
  "project base-map": (world) => typed(world, "project", "base-map", "second", "none", "--json"),
  "user add": async (world) =>
    (
      await world.mapwright(["user", "add", "eve", "--project", "second", "--json"], "battery-staple\n")
    ).toString(),
  "user list": (world) => typed(world, "user", "list", "--project", "second", "--json"),
  "user password": async (world) =>
    (
      await world.mapwright(["user", "password", "eve", "--project", "second", "--json"], "correct-horse-2\n")
    ).toString(),
  "user operator": (world) => typed(world, "user", "operator", "eve", "--project", "second", "--json"),
  "map create": (world) =>
    typed(world, "map", "create", "second", "m", "--name", "M", "--unpublished", "--group-layers", "--json"),
  "map list": (world) => typed(world, "map", "list", "second", "--json"),
  "map rename": (world) => typed(world, "map", "rename", "second", "m", "main", "--json"),
  "map group": (world) => typed(world, "map", "group", "second", "main", "--json"),
  "map ungroup": (world) => typed(world, "map", "ungroup", "second", "main", "--json"),
  "map unpublish": (world) => typed(world, "map", "unpublish", "second", "main", "--json"),
  grant: (world) =>
    typed(world, "grant", "eve", "--project", "second", "--map", "main", "--rights", "read", "--json"),
  "session open": (world) => typed(world, "session", "open", "eve", "--project", "second", "--origin", "api"),
  "session tile-key": async (world) => {
    const key = await typed(world, "session", "tile-key", "eve", "--project", "second", "--map", "main");
    return key.replace(world.at.url, "the server that runs");
  },
  "map publish": (world) => typed(world, "map", "publish", "second", "main", "--json"),
  import: async (world) => {
    const input = JSON.stringify({ type: "Point", coordinates: [1, 2] });
    const options = ["--format", "geojson", "--json"];
    return (await world.mapwright(["import", "second", "main", "places", "-", ...options], input)).toString();
  },
  export: (world) => typed(world, "export", "second", "main", "places", "-", "--format", "geojson"),
  "key add": async (world) => {
    await typed(world, "key", "add", "all", "--project", "second");
    const where = ["--project", "second", "--map", "main", "--layer", "places"];
    return typed(
      world,
      "key",
      "add",
      "sensors",
      ...where,
      "--rights",
      "edit",
      "--expires",
      "2099-01-01",
      "--json",
    );
  },
  "key list": (world) => typed(world, "key", "list", "--project", "second", "--json"),
  "key remove": async (world) => {
    const [{ id }] = JSON.parse(await typed(world, "key", "list", "--project", "second", "--json"));
    return typed(world, "key", "remove", String(id), "--project", "second", "--json");
  },
  "bin list": async (world) => {
    await typed(world, "map", "create", "second", "lost");
    await typed(world, "map", "delete", "second", "lost", "--yes");
    return typed(world, "bin", "list", "second", "--json");
  },
  "bin restore": async (world) => {
    const [{ id }] = JSON.parse(await typed(world, "bin", "list", "second", "--json"));
    return typed(world, "bin", "restore", "second", String(id), "--code", "found", "--json");
  },
  "bin empty": (world) => typed(world, "bin", "empty", "second", "--yes", "--json"),
  "layer list": (world) => typed(world, "layer", "list", "second", "main", "--json"),
  "cache warm": async (world) => {
    await writeFile(join(world.at.folder, "around.geojson"), JSON.stringify(square(0, 0, 10)));
    const where = [
      "--zoom",
      "0-1",
      "--bbox",
      "0,0,20,20",
      "--polygon",
      "around.geojson",
      "--changed-since",
      "1d",
    ];
    const drawn = ["--layers", "places", "--all-layers", "--no-base", "--langs", "en", "--retina", "1,2"];
    const form = ["--formats", "png,webp", "--quality", "1", "--jobs", "1", "--json"];
    return typed(world, "cache", "warm", "second", "main", ...where, ...drawn, ...form);
  },
  "cache purge": (world) => typed(world, "cache", "purge", "--json"),
  "config print": (world) => typed(world, "config", "print"),
  "config admin-url": (world) => typed(world, "config", "admin-url"),
  "config check": (world) => typed(world, "config", "check", "--json"),
  upgrade: async (world) =>
    `${await typed(world, "upgrade", "--json")}${await typed(world, "upgrade", "--check", "--json")}`,
  // They have a step of their own.
  backup: async () => "backup",
  restore: async () => "restore",
  // It has a step of its own.
  doctor: async () => "doctor",
  "layer delete": (world) => typed(world, "layer", "delete", "second", "main", "places", "--yes", "--json"),
  "map delete": (world) => typed(world, "map", "delete", "second", "main", "--yes", "--json"),
  "user remove": (world) => typed(world, "user", "remove", "eve", "--project", "second", "--yes", "--json"),
  "project delete": (world) => typed(world, "project", "delete", "second", "--yes", "--json"),
};

/** What each says when it has done its work. */
const says: Readonly<Record<string, RegExp>> = {
  help: /Usage: (?:npx )?mapwright project /,
  serve: /Mapwright is ready: http/,
  "project create": /"project":"second"/,
  "project list": /"town"/,
  "project base-map": /"project":"second","base"/,
  "user operator": /"login":"eve".*"operator":true/,
  "user add": /"login":"eve".*"created":true/,
  "user list": /"eve"/,
  "user password": /"login":"eve"/,
  "map create": /"map":"m"/,
  "map list": /"code": "m"/,
  "map rename": /"map":"main","was":"m"/,
  "map group": /"group_layers":1/,
  "map ungroup": /"group_layers":0/,
  "map unpublish": /"has_publication":false/,
  grant: /"login":"eve".*"rights":"read"/,
  "key add": /"key":"mwk_[\w-]{43}".*"rights":"edit"/,
  "key list": /"name": "all"[\s\S]*"name": "sensors"/,
  "key remove": /"removed":true/,
  "bin list": /"code": "lost"/,
  "bin restore": /"code":"found"/,
  "bin empty": /"removed":\d/,
  "session open": /^[\w-]{43}\n$/,
  "session tile-key": /^the server that runs\/tms\/second\/main\/.*key=/,
  "map publish": /"has_publication":true/,
  import: /"inserted":1,/,
  export: /"coordinates":\s*\[1,\s*2\]/,
  "layer list": /"code": "places"/,
  "cache warm": /"map":"main"/,
  "cache purge": /"deleted":\d/,
  "config print": /"databaseUrl"/,
  "config admin-url": /^postgresql:\/\/\w+:[\w-]{32}@127\.0\.0\.1:\d+\/postgres\n$/,
  "config check": /"valid":true/,
  upgrade: /"applied":\[\][\s\S]*"olderNodesGoOn": true/,
  backup: /backup/,
  restore: /restore/,
  doctor: /doctor/,
  "layer delete": /"layer":"places","deleted":true/,
  "map delete": /"map":"main","deleted":true/,
  "user remove": /"login":"eve".*"removed":true/,
  "project delete": /"project":"second","deleted":true/,
};

const typed = async (world: World, ...args: string[]) => (await world.mapwright(args)).toString();

/** Commands that the program's help names, without those that only hold others. */
async function commandsOf(world: World, above: readonly string[] = []): Promise<string[]> {
  const help = await typed(world, ...above, "--help");
  const list = /\nCommands:\n([\s\S]*?)(?:\n\n|$)/.exec(help)?.[1];
  if (list === undefined) return [above.join(" ")];
  const lines = [...list.matchAll(/^ {2}([\w-]+)( [[<])?/gm)].filter(([, name]) => name !== "help");
  const found: string[] = [];
  // Those without options and arguments hold others.
  for (const [, name = "", usage] of lines)
    found.push(...(usage ? [[...above, name].join(" ")] : await commandsOf(world, [...above, name])));
  return [...(above.length === 0 ? ["help"] : []), ...found];
}

export const operatingSteps: readonly Step[] = [
  {
    name: "the commands of --help",
    walk: async (t, world) => {
      const named = await commandsOf(world);
      t.same(named.toSorted(), Object.keys(uses).toSorted(), "each has a use here, and no other");
      for (const [command, use] of Object.entries(uses))
        await t.test(command, async (t) => {
          t.match(await use(world), says[command]!);
        });
    },
  },
  {
    name: "the doctor finds nothing wrong",
    also: true,
    walk: async (t, world) => {
      const found = async () => {
        const { stdout } = await world.tried(["doctor", "--json"]);
        const checks: { name: string; ok: boolean; found: string; advice?: string }[] = JSON.parse(
          stdout.toString(),
        );
        return checks;
      };
      const checks = await found();
      t.same(
        checks.filter(({ ok }) => !ok),
        [],
      );
      t.match(
        checks.find(({ name }) => name === "raster layers"),
        { ok: true },
        "a raster is drawn as the server draws it",
      );
    },
  },
  {
    name: "operators make projects, and see how the installation is",
    also: true,
    walk: async (t, world) => {
      const headers = { "x-token": world.token };
      const ask = async (method: string, path: string, body?: object) =>
        (await world.ask(method, `/installation/${path}`, { headers, ...(body && { body }) })).json;
      t.same(await ask("GET", ""), { operator: false });
      await world.mapwright(["user", "operator", login]);
      t.same(await ask("GET", ""), { operator: true });
      const made = {
        code: "port",
        name: "Port",
        languages: ["en", "de"],
        administrator: "pia",
        most_bytes: 10 ** 9,
      };
      const { invitation } = (await ask("POST", "projects/", made)).invitation;
      const body = { invitation, password: "battery-staple" };
      t.same((await world.ask("POST", "/api/2.8/port/invitation/", { body })).json, { login: "pia" });
      t.match(await ask("PATCH", "projects/port/", { name: "The port", most_bytes: null }), {
        most_bytes: null,
      });
      const again = await ask("PATCH", "projects/port/", { administrator: "pia" });
      t.not(again.invitation.invitation, invitation, "who has lost the password gets another link");
      const projects: { code: string }[] = await ask("GET", "projects/");
      t.match(
        projects.find(({ code }) => code === "port"),
        { name: "The port", users: 1, administrators: ["pia"] },
      );
      const state = await ask("GET", "state/");
      t.same(
        state.checks.filter(({ ok }: { ok: boolean }) => !ok),
        [],
      );
      await world.mapwright(["user", "operator", login, "--off"]);
      await world.ask("GET", "/installation/projects/", { headers, status: 403 });
      await world.mapwright(["project", "delete", "port", "--yes"]);
    },
  },
  {
    name: "health, metrics and descriptions",
    also: true,
    walk: async (t, world) => {
      t.equal((await world.ask("GET", "/health/live")).status, 200);
      t.match((await world.ask("GET", "/health/ready")).json, { status: "ready" });
      t.match((await world.ask("GET", "/metrics")).text, /mapwright_requests_total/);
      t.match((await world.ask("GET", "/api/2.8/")).json, { version: "2.8" });
      t.match((await world.ask("GET", "/docs/")).text, /Your first map/);
      t.match((await world.ask("GET", "/docs/operating/backup/")).text, /pg_dump/);
      t.match((await world.ask("GET", "/docs/api/")).text, /<html/);
      t.match((await world.ask("GET", "/embed")).text, /<html/);
    },
  },
];
