import type { TileCoord } from "../src/geo/tile.js";
import {
  type Place,
  type Point,
  placesToSee,
  pointOf,
  randomFrom,
  tilesAround,
  viewport,
} from "./viewports.js";

/** What people who look at a map ask for, one look after the other. */

export interface Look {
  /** Asked for at once. */
  readonly tiles: readonly TileCoord[];
  /** Milliseconds from the end of the look before to this one. */
  readonly afterMs: number;
}
/** The looks of one person. */
export type Person = readonly Look[];

/** A kind of viewers. */
export interface Viewers {
  readonly name: string;
  readonly persons: readonly Person[];
  /** Of what they look at; absent: the map stays as it is. */
  readonly editsPerSecond?: number;
}

const editsPerSecond = 10;

/** The three kinds. @param coords tiles of viewports @param persons their sessions */
export function kindsOf(coords: readonly TileCoord[], persons: readonly Person[]): Viewers[] {
  const inARow = (tiles: readonly TileCoord[]): Person[] => [[{ tiles, afterMs: 0 }]];
  const named = (of: string, viewers: Omit<Viewers, "name">): Viewers => ({
    name: `cold tiles: ${tilesOf(viewers).length} of ${of}`,
    ...viewers,
  });
  return [
    named("viewports", { persons: inARow(coords) }),
    named(`${persons.length} sessions`, { persons }),
    // Half of them, as each is asked for twice.
    named(`viewports, ${editsPerSecond} edits/s`, {
      persons: inARow(pannedBack(coords.slice(0, coords.length / 2))),
      editsPerSecond,
    }),
  ];
}

/** All that they ask for. */
export const tilesOf = ({ persons }: Pick<Viewers, "persons">): TileCoord[] =>
  persons.flatMap((looks) => looks.flatMap(({ tiles }) => tiles));

/** Viewports in the order 1 2 1 3 2 4 3 …: who pans comes back. */
export function pannedBack(coords: readonly TileCoord[]): TileCoord[] {
  const size = viewport.width * viewport.height;
  const views: TileCoord[][] = [];
  for (let at = 0; at < coords.length; at += size) views.push(coords.slice(at, at + size));
  return views.flatMap((view, index) => [...view, ...(views[index - 1] ?? [])]);
}

const zooms = { least: 4, most: 12 } as const;
/** A person looks at the map for some seconds, of which so many go by in one here. */
const hurry = 20;

/**
 * Persons who each begin somewhere, pan by parts of a screen, and zoom by one step or two; the same ones for the same seed.
 * Nobody asks again for what he has seen: his browser has it.
 */
export function sessions(
  places: readonly Place[],
  { persons, looks, seed }: { readonly persons: number; readonly looks: number; readonly seed: number },
): Person[] {
  const near = placesToSee(places);
  const random = randomFrom(seed);
  return Array.from({ length: persons }, () =>
    session(pointOf(near[Math.floor(random() * near.length)]!), looks, random),
  );
}

function session(start: Point, looks: number, random: () => number): Person {
  let [x, y] = start;
  let zoom = 5 + Math.floor(random() * 6);
  const seen = new Set<string>();
  return Array.from({ length: looks }, (_, look): Look => {
    if (look > 0 && random() < 0.6) {
      const side = random() < 0.5 ? -1 : 1;
      x += (side * (0.2 + 0.6 * random()) * viewport.width) / 2 ** zoom;
      y += ((random() - 0.5) * viewport.height) / 2 ** zoom;
    } else if (look > 0) {
      const steps = (random() < 0.6 ? 1 : -1) * (random() < 0.7 ? 1 : 2);
      const isThere = zoom + steps >= zooms.least && zoom + steps <= zooms.most;
      zoom += isThere ? steps : -steps;
    }
    const tiles = tilesAround([x, y], zoom).filter(({ z, x, y }) => {
      const key = `${z}/${x}/${y}`;
      return !seen.has(key) && seen.add(key);
    });
    return { tiles, afterMs: ((1 + 4 * random()) * 1000) / hurry };
  });
}
