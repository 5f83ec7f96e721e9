import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { mapCode, tilePath } from "../import.js";
import type { Row } from "../report.js";
import { compare, type Figure } from "../rounds.js";
import { type Server, startServer } from "../server.js";
import type { Victim } from "../soak/attacks/attack.js";
import { Client } from "../soak/client.js";
import { attackNames, Hostile, makeOwn } from "../soak/hostile.js";
import { Tally } from "../soak/tally.js";
import type { World } from "../world.js";
import { citiesPath, someCities } from "./objects.js";

/**
 * What others wait for cached tiles, logins and single objects while somebody attacks in one way, beside the same when
 * nobody does. They ask one thing after the other, so this tells what an attack holds up, not what the server can do.
 */

/** Times of others by class, in ms. */
type Times = ReadonlyMap<string, number>;
const classes = ["cached tile", "login", "object"] as const;

/** A slowdown by more than three times breaks it. */
const gate = 0.33;
/** There are many attacks, and each needs rounds of its own. */
const mostRounds = 6;

export async function attacked(context: Context): Promise<Row[]> {
  const { world, size, tiles } = context;
  const isSmall = size.rounds === 1;
  const rounds = Math.min(size.rounds, mostRounds);
  const people = await prepare(world);
  const { ids } = await someCities(world);
  const config = world.config({ redisPrefix: "bench-hostile:", trustedProxies: ["127.0.0.1"] });
  const server = await startServer(config, world.log);
  const hostile = new Hostile();
  try {
    const victim = await victimOf(server, people);
    const times = others({
      ...{ server, people, seconds: isSmall ? 0.15 : size.seconds },
      paths: { tile: tilePath(tiles(1, 29)[0]!), objects: ids.map((id) => `${citiesPath}${id}/`) },
    });
    const pauseMs = isSmall ? 100 : 500;
    // What is done once by all.
    await times();
    const rows: Row[] = [];
    for (const name of attackNames) {
      const whileAttacked = async (): Promise<Times> => {
        await hostile.start({ urls: [server.url], victim, seed: 1, only: [name], pauses: false });
        await sleep(pauseMs);
        const found = await times();
        await hostile.stop();
        // What it left has to end.
        await sleep(pauseMs);
        return found;
      };
      rows.push(...(await compare({ rounds, most: rounds }, whileAttacked, [times], figuresOf(name))));
    }
    return rows;
  } finally {
    await Promise.all([hostile.end(), server.stop()]);
  }
}

const figuresOf = (attack: string): Figure<Times>[] =>
  classes.map((name) => ({
    measure: `${name} beside an attack: ${attack}`,
    unit: "p95, ms",
    of: (times) => times.get(name)!,
    less: true,
    gate,
  }));

interface People {
  /** Login of a user of the map; the password is the login twice. */
  readonly user: string;
  /** Code of the attacker's project, and his login. */
  readonly attacker: string;
}

async function prepare(world: World): Promise<People> {
  return withCatalogue(world, async ({ db, project }) => {
    // A kept database has those of earlier runs.
    const mark = randomUUID().slice(0, 8);
    const people = { user: `user-${mark}`, attacker: `attacker-${mark}` };
    const projectId = await createProject(db, { code: people.attacker });
    await addMember(db, { ...signIn(people.user), projectId: project.id, role: "viewer" });
    await addMember(db, { ...signIn(people.attacker), projectId, role: "admin" });
    return people;
  });
}

const signIn = (login: string) => ({ login, password: `${login}-${login}` });
const loginPath = (project: string): string => `/api/2.8/${project}/login/`;

function clientOf(server: Server, project: string, login: string, tally: Tally): Client {
  const { password: pass } = signIn(login);
  return new Client({
    ...{ urls: [server.url], address: "198.51.100.1", tally },
    login: { path: loginPath(project), user: login, pass },
  });
}

async function victimOf(server: Server, { attacker }: People): Promise<Victim> {
  const client = clientOf(server, attacker, attacker, new Tally());
  try {
    const map = `/api/2.8/${mapCode}/${mapCode}/`;
    return {
      ...{ map, layer: `${map}layers/cities/`, column: "name" },
      ...{ tiles: `/tms/${mapCode}/${mapCode}/`, login: loginPath(mapCode) },
      own: await makeOwn(client, attacker),
    };
  } finally {
    client.close();
  }
}

interface Others {
  readonly server: Server;
  readonly people: People;
  readonly seconds: number;
  readonly paths: { readonly tile: string; readonly objects: readonly string[] };
}

/** What others wait for, measured for a while. @throws Error when a request is lost */
function others({ server, people, seconds, paths }: Others): () => Promise<Times> {
  return async () => {
    const tally = new Tally();
    const client = clientOf(server, mapCode, people.user, tally);
    const until = performance.now() + 1_000 * seconds;
    const again = async (ask: (index: number) => Promise<unknown>) => {
      for (let index = 0; index === 0 || performance.now() < until; index++) {
        await ask(index);
        // Others have something else to do, too.
        await sleep(5);
      }
    };
    try {
      await Promise.all([
        again(() => client.ask({ as: "cached tile", path: paths.tile })),
        again((index) => client.ask({ as: "object", path: paths.objects[index % paths.objects.length]! })),
        again(() => client.signIn()),
      ]);
    } finally {
      client.close();
    }
    if (tally.reasons.length > 0) throw new Error(tally.reasons.join("\n"));
    return new Map(tally.figures().map(({ name, p95 }) => [name, p95]));
  };
}
