import { setTimeout as sleep } from "node:timers/promises";
import { type City, cityCode, cityLogin, layerPath, makeCity, mapPath, textsOf, tilesPath } from "./city.js";
import { Client } from "./client.js";
import { startCrowd } from "./crowd.js";
import { Hostile, makeOwn } from "./hostile.js";
import type { Burst } from "./hostile-process.js";
import { type Installation, type Member, startInstallation } from "./installation.js";
import { startKills } from "./kills.js";
import { type Audit, Ledger } from "./ledger.js";
import type { SoakOptions } from "./options.js";
import { Random } from "./random.js";
import { type ClassFigures, Tally } from "./tally.js";
import { Watch, type Watched } from "./watch.js";

/** Well-behaved clients on two nodes whose parts are killed, first among themselves, then beside hostile ones. */

export interface Run {
  readonly name: "calm" | "hostile";
  readonly classes: readonly ClassFigures[];
  /** Why requests were lost. */
  readonly reasons: readonly string[];
  readonly kills: ReadonlyMap<string, number>;
  readonly watched: Watched;
  /** What hostile clients did. */
  readonly bursts: readonly Burst[];
  /** What each node has at the end of the run; undefined = it could not be asked. */
  readonly audits: readonly (Audit | undefined)[];
}

export interface SoakSize extends Omit<SoakOptions, "strict"> {
  /** Objects of the layer that is read. */
  readonly places: number;
  /** Before the first run, so that it is not the slower one for what is done once. */
  readonly warmUpSeconds: number;
  readonly progress: (text: string) => void;
}

const attackerCode = "attacker";

/** @throws Error when the installation cannot be set up */
export async function soak(size: SoakSize): Promise<Run[]> {
  size.progress("starting PostgreSQL, Redis and two nodes");
  const projects: Record<string, Member[]> = {
    [cityCode]: [
      { login: "admin", role: "admin" },
      { login: "reader", role: "viewer" },
      { login: "editor", role: "editor" },
    ],
    [attackerCode]: [{ login: "hostile", role: "admin" }],
  };
  const installation = await startInstallation(projects, size.verbose);
  try {
    return await bothRuns(installation, size);
  } finally {
    await installation.stop();
  }
}

async function bothRuns(installation: Installation, size: SoakSize): Promise<Run[]> {
  const urls = installation.nodes.map(({ url }) => url);
  const setUp = new Tally();
  const client = (user: string, path: string) =>
    new Client({
      ...{ urls, address: "198.51.100.254", tally: setUp },
      login: { path, user, pass: `${user}-${user}` },
    });
  const admin = client("admin", cityLogin);
  const attacker = client("hostile", `/api/2.8/${attackerCode}/login/`);
  try {
    const city = await makeCity(admin, new Random(size.seed), size.places);
    const own = await makeOwn(attacker, attackerCode);
    const context = { installation, urls, city, ledger: new Ledger(), size };
    const warming = startCrowd({ ...crowdOf(context, "warm-up"), tally: setUp });
    await sleep(1_000 * size.warmUpSeconds);
    await warming.leave();
    const calm = await oneRun(context, "calm", async () => ({ stop: async () => [] }));
    const hostile = await oneRun(context, "hostile", async () => {
      // Its session may have ended meanwhile.
      attacker.forget();
      const victim = {
        ...{ map: mapPath, layer: layerPath("places"), tiles: tilesPath, login: cityLogin, column: "text" },
        own: { ...own, token: await attacker.signedIn() },
      };
      const hostile = new Hostile();
      await hostile.start({ urls, victim, seed: size.seed, only: size.only, pauses: true });
      return { stop: () => hostile.stop().finally(() => hostile.end()) };
    });
    return [calm, hostile];
  } catch (error) {
    throw setUp.reasons.length > 0 ? new Error(setUp.reasons.join("\n"), { cause: error }) : error;
  } finally {
    admin.close();
    attacker.close();
  }
}

interface Context {
  readonly installation: Installation;
  readonly urls: readonly string[];
  readonly city: City;
  readonly ledger: Ledger;
  readonly size: SoakSize;
}

const crowdOf = ({ urls, city, ledger, size }: Context, run: string) => ({
  ...{ urls, city, ledger, run, seed: size.seed, each: size.clients },
});

/** @param others starts those who are beside the well-behaved clients */
async function oneRun(
  context: Context,
  name: Run["name"],
  others: () => Promise<Pick<Hostile, "stop">>,
): Promise<Run> {
  const { installation, size } = context;
  const { seconds, every } = size;
  size.progress(`${name}: ${seconds} s`);
  const tally = new Tally();
  const beside = await others();
  const watch = new Watch(installation.nodes);
  const kills = startKills(installation, { everySeconds: every, seconds });
  const crowd = startCrowd({ ...crowdOf(context, name), tally });
  await sleep(1_000 * seconds);
  await crowd.leave();
  const killed = await kills.stop();
  const watched = await watch.stop();
  const bursts = await beside.stop();
  const audits = await audit(context);
  return { name, classes: tally.figures(), reasons: tally.reasons, kills: killed, watched, bursts, audits };
}

/** What each node lists, beside what was acknowledged. */
function audit({ urls, ledger }: Context): Promise<(Audit | undefined)[]> {
  return Promise.all(
    urls.map(async (url) => {
      const client = new Client({
        ...{ urls: [url], address: "198.51.100.253", tally: new Tally() },
        login: { path: cityLogin, user: "reader", pass: "reader-reader" },
      });
      try {
        const [notes, imported] = [await textsOf(client, "notes"), await textsOf(client, "imported")];
        return notes && imported && ledger.audit([...notes, ...imported]);
      } finally {
        client.close();
      }
    }),
  );
}
