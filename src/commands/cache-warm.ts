import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { operator } from "../access/rights.js";
import { type Caller, type MapState, publicCaller } from "../catalog/state.js";
import { changedAreas } from "../changes/changed-areas.js";
import { counted } from "../counted.js";
import { Failure, reasonOf } from "../errors.js";
import { seenExtent, seenLayers } from "../export/tile-extent.js";
import { selectTiles, type TileSelection } from "../export/tile-selection.js";
import { type Region, regionOfBoth, regionOfBoxes } from "../geo/region.js";
import type { TileCoord } from "../geo/tile.js";
import { squareZooms, tileSquares } from "../geo/tile-area.js";
import { programName } from "../program-name.js";
import type { TileAddress, TileScale } from "../tiles/address.js";
import { defaultTileFormat, tileFormats } from "../tiles/formats.js";
import { namesOf } from "../tiles/missing-layer.js";
import type { Tile } from "../tiles/tile.js";
import type { TileSource } from "../tiles/tile-service.js";
import {
  type CommandEnvironment,
  CommandError,
  type CommandServices,
  report,
  UsageError,
  withServices,
} from "./environment.js";
import { findMap } from "./find-map.js";
import { interruptible } from "./interrupt.js";
import { polygonsOf } from "./polygons.js";
import { Progress } from "./progress.js";
import { boxOf, layerIds, listOf, zoomsOf } from "./tile-options.js";
import { withTilePath } from "./with-tile-path.js";

interface WarmOptions {
  readonly zoom?: string;
  readonly bbox?: string;
  readonly polygon?: string;
  readonly changedSince?: string;
  readonly layers?: string;
  readonly base: boolean;
  readonly langs?: string;
  readonly retina: string;
  readonly formats: string;
  readonly quality: "0" | "1";
  readonly allLayers?: boolean;
  readonly jobs: string;
}

/** mapwright cache warm */
export function register(cache: Command, env: CommandEnvironment): void {
  cache
    .command("warm")
    .description("draw tiles of a map before anybody asks for them")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .option("--zoom <range>", "zooms such as 0-12 (default: from 0 as far as 10000 tiles go, at most 18)")
    .option("--bbox <south,west,north,east>", "only tiles that meet this box, in degrees")
    .option("--polygon <file>", "only tiles that meet the polygons of this GeoJSON file")
    .option(
      "--changed-since <time>",
      "only where objects changed since: a time such as 2026-01-31T18:00, or for how long, such as 30m, 6h, 1d",
    )
    .option("--layers <codes>", "layers to draw, separated by commas (default: those that the map shows)")
    .option("--no-base", "without the base map")
    .option("--langs <list>", "languages of labels, separated by commas (default: the main one)")
    .option("--retina <list>", "densities, of 1, 2 and 3", "1")
    .option(
      "--formats <list>",
      `of ${tileFormats.map(({ name }) => name).join(", ")}`,
      defaultTileFormat.name,
    )
    .addOption(
      new Option("--quality <number>", "as q in the addresses of tiles").choices(["0", "1"]).default("0"),
    )
    .option("--all-layers", "also layers that not everybody may see (default: what everybody sees)")
    .option("--jobs <number>", "metatiles that are drawn at once, 1 to 16", "2")
    .addHelpText(
      "after",
      `
Examples:
  $ ${programName()} cache warm city main --zoom 0-12
  $ ${programName()} cache warm city main --zoom 10-16 --polygon centre.geojson --retina 1,2
  $ ${programName()} cache warm city main --zoom 0-14 --changed-since 6h

The tiles are those that viewers ask for with the same options. Running nodes find them in Redis (tiles.redisSeconds says
for how long). Tiles that are there and current are not drawn again, so a run that was interrupted goes on where it was.

It runs with the lowest priority of the machine, so that the server's viewers come first. --changed-since does not know of
changes of styles or of the layer tree, after which all tiles are others.`,
    )
    .action(async (project: string, map: string, options: WarmOptions, command: Command) => {
      const job = readJob(project, map, options);
      await withServices(env, command, (services) => warm(env, command, services, job));
    });
}

interface WarmJob {
  readonly project: string;
  readonly map: string;
  readonly zooms: ReturnType<typeof zoomsOf>;
  readonly box: ReturnType<typeof boxOf>;
  readonly polygon: string | undefined;
  readonly since: Date | undefined;
  readonly layers: readonly string[] | undefined;
  readonly caller: Caller;
  readonly jobs: number;
  /** What is drawn of each tile. */
  readonly variants: readonly Omit<TileAddress, "coord" | "layers">[];
}

/** @throws UsageError */
function readJob(project: string, map: string, options: WarmOptions): WarmJob {
  const { langs, retina, formats, base, quality } = options;
  const languages: (string | undefined)[] = langs === undefined ? [undefined] : listOf(langs);
  const scales = listOf(retina).map(Number);
  if (!scales.every((scale): scale is TileScale => [1, 2, 3].includes(scale)))
    throw new UsageError("--retina: must be of 1, 2 and 3, separated by commas.");
  const named = listOf(formats).map((name) => {
    const format = tileFormats.find((one) => one.name === name);
    if (!format) throw new UsageError(`--formats: there is no format ${name}.`);
    return format;
  });
  if (!/^(?:[1-9]|1[0-6])$/.test(options.jobs)) throw new UsageError("--jobs: must be 1 to 16.");
  return {
    project,
    map,
    zooms: zoomsOf(options.zoom),
    box: boxOf(options.bbox),
    polygon: options.polygon,
    since: options.changedSince === undefined ? undefined : timeOf(options.changedSince),
    layers: options.layers === undefined ? undefined : listOf(options.layers),
    caller: options.allLayers ? operator : publicCaller,
    jobs: Number(options.jobs),
    variants: languages.flatMap((language) =>
      scales.flatMap((scale) =>
        named.map((format) => ({ base, scale, language, format, quality: quality === "1" ? 1 : 0 }) as const),
      ),
    ),
  };
}

const unitMs: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 };

/** @throws UsageError */
function timeOf(text: string): Date {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * unitMs[unit]!;
  if (Number.isNaN(time))
    throw new UsageError("--changed-since: must be a time such as 2026-01-31T18:00, or 30m, 6h, 1d.");
  return new Date(time);
}

async function warm(
  env: CommandEnvironment,
  command: Command,
  services: CommandServices,
  job: WarmJob,
): Promise<void> {
  const { db, config } = services;
  if (config.tiles.redisSeconds === 0)
    throw new CommandError(
      "Tiles are not kept in Redis (tiles.redisSeconds is 0), so none can be drawn ahead.",
    );
  const map = await findMap(db, job.project, job.map);
  const layers = job.layers && layerIds(map, job.layers);
  const selection = await select(services, map, layers, job);
  // The processes that draw inherit its priority.
  env.yieldToOthers?.();
  const progress = new Progress(env, "tiles");
  const counts: Record<TileSource, number> = { memory: 0, redis: 0, render: 0 };
  let failures = 0;
  let firstFailure: unknown;
  const all = selection.tiles * job.variants.length;
  try {
    await interruptible((signal) =>
      withTilePath(
        services,
        async ({ answers, catalog }) => {
          // All tiles of the squares wait at once.
          setMaxListeners(2 * 4 ** squareZooms * job.jobs, signal);
          const access = async () => ({ map: await catalog.map(job.project, job.map), caller: job.caller });
          const squares = squaresOf(selection, job.variants);
          const work = async () => {
            for (const { coords, variant } of squares) {
              // All tiles of a square are drawn together, by the first.
              const tiles = coords.map((coord) =>
                patiently(
                  () => answers.tile({ access, address: { ...variant, coord, layers }, signal }),
                  signal,
                ),
              );
              for (const one of await Promise.allSettled(tiles)) {
                signal.throwIfAborted();
                const failure = one.status === "rejected" ? one.reason : lack(one.value);
                if (failure !== undefined && failures++ === 0) firstFailure = failure;
              }
              progress.add(coords.length, all);
            }
          };
          await Promise.all(Array.from({ length: job.jobs }, work));
        },
        (source) => counts[source]++,
      ),
    );
  } finally {
    progress.end();
    const { memory, redis, render } = counts;
    report(env, command, {
      message: `${job.project}/${job.map}: ${render} of ${counted(all, "tile")} drawn, ${memory + redis} were there.`,
      value: {
        project: job.project,
        map: job.map,
        tiles: all,
        drawn: render,
        there: memory + redis,
        failures,
      },
    });
  }
  if (failures > 0)
    throw new CommandError(`${counted(failures, "tile")} could not be drawn: ${reasonOf(firstFailure)}`);
}

/** Which tiles are drawn. @throws CommandError */
async function select(
  { db }: Pick<CommandServices, "db">,
  map: MapState,
  layers: readonly number[] | undefined,
  { box, polygon, since, zooms, caller }: WarmJob,
): Promise<TileSelection> {
  const regions: Region[] = [];
  if (polygon !== undefined) regions.push(polygonsOf(polygon, await readFile(polygon, "utf8")));
  if (since) {
    const ids = seenLayers(map, caller, layers).map(({ id }) => id);
    const areas = await changedAreas(db, ids, since);
    if (areas) regions.push(regionOfBoxes(areas));
  }
  const region = regions.length > 0 ? regions.reduce(regionOfBoth) : undefined;
  const extent = box ? null : await seenExtent(db, map, caller, layers);
  return selectTiles({ box, region, ...zooms }, extent, Number.POSITIVE_INFINITY);
}

/** One after the other, to all who iterate. */
function* squaresOf(
  { area, minZoom, maxZoom }: TileSelection,
  variants: WarmJob["variants"],
): Generator<{ readonly coords: readonly TileCoord[]; readonly variant: WarmJob["variants"][number] }, void> {
  for (let z = minZoom; z <= maxZoom; z++)
    for (const coords of tileSquares(area, z)) for (const variant of variants) yield { coords, variant };
}

/** Why the tile is not kept. */
const lack = ({ missing }: Tile): CommandError | undefined =>
  missing && new CommandError(`Layers cannot be drawn just now: ${namesOf(missing)}.`);

const busyRetries = 30;
const busyRetryMs = 1_000;

async function patiently<T>(draw: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let retry = 1; ; retry++) {
    try {
      return await draw();
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "busy" || retry > busyRetries) throw error;
      await sleep(busyRetryMs, undefined, { signal });
    }
  }
}
