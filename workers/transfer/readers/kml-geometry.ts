import { badGeometry } from "../refusal.js";
import type { Positions, Shape } from "../shapes.js";
import { addTrackPosition, closed, readCoordinates } from "./kml-coordinates.js";

/** Puts the geometry of a Placemark together from its elements. */

const elements: ReadonlySet<string> = new Set([
  "Point",
  "LineString",
  "LinearRing",
  "Polygon",
  "MultiGeometry",
  "Track",
  "MultiTrack",
]);

/** An element that is open. */
interface Frame {
  readonly element: string;
  positions: Positions;
  /** Positions of a track. */
  readonly track: number[];
  outer: Positions | undefined;
  readonly inner: Positions[];
  /** Whether the boundary of a polygon that is read is an inner one. */
  inInner: boolean;
  readonly members: Shape[];
}

export class KmlGeometry {
  /** Times of the positions of tracks: the first and the last. */
  begin: string | undefined;
  end: string | undefined;
  /** Whether a ring had to be closed. */
  hadOpenRing = false;
  private readonly shapes: Shape[] = [];
  private readonly frames: Frame[] = [];

  /** Whether an element of a geometry is open. */
  get isOpen(): boolean {
    return this.frames.length > 0;
  }

  /** Undefined when there is none. */
  get shape(): Shape | undefined {
    return this.shapes.length > 1 ? { kind: "Multi", members: this.shapes } : this.shapes[0];
  }

  /** @returns whether the element belongs to a geometry */
  open(name: string): boolean {
    const frame = this.frames.at(-1);
    if (elements.has(name)) {
      this.frames.push({
        element: name,
        positions: [],
        track: [],
        outer: undefined,
        inner: [],
        inInner: false,
        members: [],
      });
      return true;
    }
    if (frame && name === "innerBoundaryIs") frame.inInner = true;
    if (frame && name === "outerBoundaryIs") frame.inInner = false;
    return frame !== undefined;
  }

  /** @throws BadFeature invalid_geometry */
  close(name: string, text: string): void {
    const frame = this.frames.at(-1);
    if (!frame) return;
    if (name === "coordinates") frame.positions = readCoordinates(text);
    else if (name === "coord") addTrackPosition(frame.track, text);
    else if (name === "when") {
      this.begin ??= text.trim();
      this.end = text.trim();
    } else if (name === frame.element) {
      this.frames.pop();
      this.add(frame);
    }
  }

  private add(frame: Frame): void {
    const parent = this.frames.at(-1);
    if (frame.element === "LinearRing" && parent?.element === "Polygon") {
      const { ring, wasOpen } = closed(frame.positions);
      this.hadOpenRing ||= wasOpen;
      if (parent.inInner) parent.inner.push(ring);
      else if (parent.outer) throw badGeometry("a polygon has two outer boundaries");
      else parent.outer = ring;
      return;
    }
    (parent ? parent.members : this.shapes).push(shapeOf(frame));
  }
}

function shapeOf({ element, positions, track, outer, inner, members }: Frame): Shape {
  switch (element) {
    case "Point":
      return { kind: "Point", positions };
    case "Track":
      return { kind: track.length === 3 ? "Point" : "LineString", positions: track };
    case "Polygon":
      if (inner.length > 0 && (outer === undefined || outer.length === 0))
        throw badGeometry("a polygon has no outer boundary");
      return { kind: "Polygon", rings: outer && outer.length > 0 ? [outer, ...inner] : [] };
    case "MultiGeometry":
    case "MultiTrack":
      return { kind: "Multi", members };
    default:
      return { kind: "LineString", positions };
  }
}
