import { parentPort } from "node:worker_threads";
import type {
  MetatileRequest,
  PackRequest,
  RenderMessages,
  SymbolRequest,
} from "../../src/hosts/messages.js";
import { LoadingServer } from "./database/server.js";
import { socketPath } from "./database/socket.js";
import { Datasources } from "./datasources.js";
import { loadMapnik } from "./mapnik.js";
import { LoadedMaps } from "./maps.js";
import { MetatileRenderer } from "./metatile.js";
import { packTile } from "./pack.js";
import { Slots } from "./slots.js";
import { drawSymbol } from "./symbol.js";

/** The thread of the render host that has loaded Mapnik. */

const {
  MAPWRIGHT_DATABASE_SETTING: setting,
  MAPWRIGHT_DATABASE_URL: url = "",
  MAPWRIGHT_MAP_BYTES: mapBytes = "",
  MAPWRIGHT_MOST_WAIT: mostWait = "",
  MAPWRIGHT_PICTURES: pictures = "",
  MAPWRIGHT_RENDERS: renders = "",
  MAPWRIGHT_SOCKETS: sockets = "",
  PGOPTIONS: settings = "",
} = process.env;

/** Memory for maps of symbols. */
const symbolBytes = 1024 ** 2;

const mapnik = loadMapnik();
const concurrency = Number(renders);
// More than one would load no faster, and would take the threads that draw.
const loader = new Slots(1);
const slots = new Slots(concurrency, concurrency, Number(mostWait));
const server = new LoadingServer(socketPath(sockets), {
  url,
  settings:
    setting === undefined
      ? `${settings} -c default_transaction_read_only=on -c client_min_messages=warning`
      : undefined,
  setting,
  // Behind a pooler for all that is drawn, too.
  most: setting === undefined ? concurrency + 1 : 2 * concurrency + 2,
});
if (setting !== undefined) await server.open();
const datasources = new Datasources(mapnik, loader, server, Number(mapBytes) / 4);
const maps = new LoadedMaps(mapnik, datasources, loader, (Number(mapBytes) * 3) / 4, pictures);
const renderer = new MetatileRenderer(mapnik, maps, slots);
// Of their own, as they are drawn once and must not push out those of tiles.
const symbolMaps = new LoadedMaps(mapnik, datasources, loader, symbolBytes, pictures);

type Task = { readonly id: number } & (
  | { readonly kind: "metatile"; readonly request: MetatileRequest }
  | { readonly kind: "symbol"; readonly request: SymbolRequest }
  | { readonly kind: "pack"; readonly request: PackRequest }
  | { readonly kind: "ping"; readonly request: null }
);

type Response = RenderMessages[Task["kind"]][1];

/** Tasks that somebody waits for. */
let awaited = 0;

export default async function run(task: Task): Promise<Response> {
  if (task.kind === "pack") return packTile({ mapnik, isBusy: () => awaited > 0 }, task.request.bytes);
  awaited++;
  try {
    return await work(task);
  } finally {
    awaited--;
  }
}

async function work(task: Exclude<Task, { kind: "pack" }>): Promise<Response> {
  // The deadline is for the work, without this wait.
  const onWait = (waits: boolean) => parentPort?.postMessage({ id: task.id, waits });
  switch (task.kind) {
    case "metatile":
      return renderer.render(task.request, onWait);
    case "symbol":
      return drawSymbol({ mapnik, maps: symbolMaps, renders: slots, onWait }, task.request);
    case "ping":
      return "pong";
  }
}
