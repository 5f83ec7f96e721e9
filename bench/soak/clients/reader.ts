import { type City, layerPath, mapPath } from "../city.js";
import type { Client } from "../client.js";
import type { Random } from "../random.js";

/** Reads objects, lists and what else a viewer shows, signed in; sometimes signs in anew. */

export async function read(client: Client, random: Random, city: City): Promise<void> {
  const kind = random.next();
  const places = layerPath("places");
  if (kind < 0.5)
    await client.ask({
      as: "object",
      path: `${places}objects/${random.one(city.places)}/?returnGeom=1`,
      token: true,
    });
  else if (kind < 0.7)
    await client.ask({
      as: "list, short",
      path: `${places}objects/?fields=text&sort=text&limit=20`,
      token: true,
    });
  else if (kind < 0.75)
    await client.ask({ as: "list, long", path: `${places}objects/?fields=text&returnGeom=1`, token: true });
  else if (kind < 0.85)
    await client.ask({
      as: "search",
      path: `${mapPath}search/?phrase=place%20${random.whole(1, 900)}&lang=en`,
    });
  else if (kind < 0.9) await client.ask({ as: "icon", path: `${places}icon/?size=${random.whole(16, 64)}` });
  else if (kind < 0.95) await client.ask({ as: "layers", path: `${mapPath}layers/?returnBbox=1` });
  else client.forget();
}
