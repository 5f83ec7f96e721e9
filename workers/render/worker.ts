import type { MetatileRequest, RenderMessages } from "../../src/hosts/messages.js";
import { loadMapnik } from "./mapnik.js";
import { LoadedMaps } from "./maps.js";
import { MetatileRenderer } from "./metatile.js";

/** The thread of the render host that has loaded Mapnik. */

const mapnik = loadMapnik();
const renderer = new MetatileRenderer(
  mapnik,
  new LoadedMaps(mapnik, 64, process.env.MAPWRIGHT_PICTURES ?? ""),
);

type Task =
  | { readonly kind: "metatile"; readonly request: MetatileRequest }
  | { readonly kind: "ping"; readonly request: null };

export default async function run(task: Task): Promise<RenderMessages["metatile" | "ping"][1]> {
  switch (task.kind) {
    case "metatile":
      return renderer.render(task.request);
    case "ping":
      return "pong";
  }
}
