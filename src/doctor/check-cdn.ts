import { randomUUID } from "node:crypto";
import type pg from "pg";
import { purgeServicesOf } from "../cdn/purge-services.js";
import type { Config } from "../config.js";
import { reasonOf } from "../errors.js";
import { programName } from "../program-name.js";
import { bad, type Check, good } from "./check.js";
import { connected } from "./checks.js";

/** The check of `mapwright doctor` that looks at the cache in front of the server. */

/** For each request. */
const answerMs = 5_000;
/** Published maps that are tried, as the public may be kept from some. */
const mostMaps = 5;

const patience = (): AbortSignal => AbortSignal.timeout(answerMs);

/** Whether the cache takes purges, and, with Varnish, whether it drops by one what it has kept. */
export async function checkCdn(config: Config): Promise<Check[]> {
  const { kind } = config.edge;
  const services = [...purgeServicesOf(config)];
  if (services.length === 0) return [];
  const maps = kind === "varnish" ? await publishedMaps(config.databaseUrl) : [];
  return Promise.all(
    services.map(async ([name, service]) => {
      const what = services.length > 1 ? `${kind} ${name}` : kind;
      try {
        // Nothing has this key.
        await service.purge(["doctor"], patience());
      } catch (error) {
        const advice = `look at edge.* in the configuration, and whether it runs as \`${programName()} help cdn\` tells`;
        return bad("edge", `${what} does not take purges: ${reasonOf(error)}`, advice);
      }
      if (kind !== "varnish") return good("edge", `${what} takes purges`);
      try {
        return checkArrival(
          what,
          await arrivalOf({ url: name, maps, purge: (keys) => service.purge(keys, patience()) }),
        );
      } catch (error) {
        const advice = "look whether the server runs, and is the backend in the file of Varnish";
        return bad("edge", `${what} takes purges, but serves no tile: ${reasonOf(error)}`, advice);
      }
    }),
  );
}

/** `untried` = no map is published; `unkept` = the cache asks for each tile. */
type Arrival = "dropped" | "stale" | "unkept" | "untried";

function checkArrival(what: string, arrival: Arrival): Check {
  const taken = `${what} takes purges`;
  switch (arrival) {
    case "dropped":
      return good("edge", `${taken}, and drops what they name`);
    case "untried":
      return good("edge", `${taken}; no published map was there to try one with`);
    case "unkept": {
      const advice =
        "start the server with these settings of edge; it has not told Varnish for a minute that all is current";
      return { ...good("edge", `${taken}, and keeps nothing`), advice };
    }
    case "stale":
      return bad(
        "edge",
        `${taken}, and shows what they should have dropped`,
        "let it run with config/varnish/mapwright.vcl of this version",
      );
  }
}

interface PublishedMap {
  readonly id: string;
  readonly project: string;
  readonly code: string;
}

interface Trial {
  /** Of the instance. */
  readonly url: string;
  readonly maps: readonly PublishedMap[];
  readonly purge: (keys: readonly string[]) => Promise<void>;
}

/** Looks whether a tile is kept, and whether it is after a purge of its map. @throws Error when no tile comes */
async function arrivalOf({ url, maps, purge }: Trial): Promise<Arrival> {
  for (const { id, project, code } of maps) {
    // Nobody else asks for it between a purge and the look at what that has done.
    const path = `tms/${encodeURIComponent(project)}/${encodeURIComponent(code)}/0/0/0.png?doctor=${randomUUID()}`;
    const address = `${url.replace(/\/$/, "")}/${path}`;
    const first = await fetch(address, { signal: patience() });
    await first.arrayBuffer();
    // The public may not see it.
    if (first.status === 403 || first.status === 404) continue;
    if (!first.ok) throw new Error(`${address} is answered ${first.status}`);
    if (!(await isKept(address))) return "unkept";
    await purge([`m${id}`]);
    return (await isKept(address)) ? "stale" : "dropped";
  }
  return "untried";
}

async function isKept(address: string): Promise<boolean> {
  const answer = await fetch(address, { signal: patience() });
  await answer.arrayBuffer();
  return answer.headers.get("x-cache") === "hit";
}

/** Some of the maps that the public may see. None while the database cannot tell, which other checks say. */
async function publishedMaps(databaseUrl: string): Promise<readonly PublishedMap[]> {
  let client: pg.Client | undefined;
  try {
    client = await connected(databaseUrl);
    const { rows } = await client.query<PublishedMap>(
      `select map.id, project.code as project, map.code from mapwright.map join mapwright.project on project.id = project_id
       where has_publication and not hidden order by map.id limit $1`,
      [mostMaps],
    );
    return rows;
  } catch {
    return [];
  } finally {
    await client?.end().catch(() => undefined);
  }
}
