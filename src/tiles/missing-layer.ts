/** A layer that a tile should show and does not, as it cannot be drawn just then. */
export interface MissingLayer {
  readonly id: number;
  /** What answers name it by. */
  readonly code: string;
  readonly cause: MissingCause;
  /** For the log: what was thrown, as far as is known. */
  readonly reason?: unknown;
}

/**
 * Why: a file of it is gone or damaged, its source is away, its style does not compile, its statistics are late, its plug-in
 * failed, the database refused or did not answer its statement, it took too long to draw, it is too large for a vector tile, or
 * it could not be drawn at all.
 */
export type MissingCause =
  | "file"
  | "source"
  | "style"
  | "statistics"
  | "plugin"
  | "database"
  | "overrun"
  | "size"
  | "failure";

/** The base map, in place of a layer: its id, which no layer has, and its code. */
export const baseMapLayer = { id: 0, code: "_base" } as const;

/** Layers that are named; of more, their number is told. */
export const mostNamed = 20;

/** Their codes, each once, and how many more there are. */
export function namesOf(missing: readonly MissingLayer[]): string {
  const codes = [...new Set(missing.map(({ code }) => code))];
  const more = codes.length - mostNamed;
  return [...codes.slice(0, mostNamed), ...(more > 0 ? [`+${more}`] : [])].join(", ");
}

/** The tile of a plan cannot be made with these layers. Without them it can, as of `TilePlan.without`. */
export class LayersMissing extends Error {
  constructor(
    readonly layers: readonly MissingLayer[],
    /** Whether that was found out before, so that it was not tried. */
    readonly isKnown: boolean,
  ) {
    super("Some layers cannot be drawn.");
    this.name = "LayersMissing";
  }
}
