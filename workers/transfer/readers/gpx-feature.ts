import { maxPositions } from "../../../src/geo/wkb.js";
import { BadFeature, badGeometry } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { addPosition, type Shape, wkbOf } from "../shapes.js";
import type { XmlElement } from "../xml.js";

/** A waypoint, a route or a track of a GPX file. */

/** Kinds of features by their elements. */
export const gpxKinds: Readonly<Record<string, string>> = { wpt: "waypoint", rte: "route", trk: "track" };

const texts: ReadonlySet<string> = new Set("name cmt desc src type sym time fix url urlname".split(" "));
const numbers: ReadonlySet<string> = new Set(
  "number magvar geoidheight sat hdop vdop pdop ageofdgpsdata dgpsid course speed".split(" "),
);

export class GpxFeature {
  /** Whether positions had times or other values that are left out. */
  hadPositionValues = false;
  /** Whether a part of one position was left out. */
  hadShortPart = false;
  private readonly parts: number[][] = [];
  private readonly elements = new Map<string, string>();
  private readonly extensions = new Map<string, string>();
  /** Names of the open elements below the feature. */
  private readonly path: string[] = [];
  /** Whether the element that was opened last is open, so that it has no elements in it. */
  private isLeaf = false;
  private problem: BadFeature | undefined;

  /** @param element `wpt`, `rte` or `trk` */
  constructor(
    private readonly element: string,
    attributes: XmlElement,
  ) {
    if (element !== "trk") this.parts.push([]);
    if (element === "wpt") this.add(attributes);
  }

  open(element: XmlElement): void {
    const { name } = element;
    this.path.push(name);
    this.isLeaf = true;
    const path = this.path.join("/");
    if (path === "trkseg") this.parts.push([]);
    else if (path === "rtept" || path === "trkseg/trkpt") this.add(element);
    else if (path === "link") this.elements.set("link", element.attribute("href") ?? "");
  }

  close(text: string): void {
    const { path, isLeaf } = this;
    const inPosition = path[0] === "rtept" || path[1] === "trkpt";
    const name = path.pop()!;
    this.isLeaf = false;
    const above = path.at(-1);
    if (name === "ele" && (path.length === 0 || above === "rtept" || above === "trkpt")) this.setHeight(text);
    else if (inPosition) this.closeInPosition(name, above, text);
    else if (path.length === 0 && (texts.has(name) || numbers.has(name))) this.elements.set(name, text);
    else if (path[0] === "extensions" && isLeaf) this.extensions.set(name, text);
  }

  /**
   * Takes a waypoint with the same id and the same values as another point of this one, as exports of several points have it.
   * @returns whether it is one
   */
  join(other: GpxFeature): boolean {
    if (this.element !== "wpt" || other.element !== "wpt" || !this.extensions.has("svc_id")) return false;
    if (this.parts.length >= maxPositions) return false;
    if (!sameValues(this.extensions, other.extensions) || !sameValues(this.elements, other.elements))
      return false;
    this.parts.push(...other.parts);
    this.problem ??= other.problem;
    return true;
  }

  /** @throws BadFeature */
  write(row: RowEncoder, namesKind: boolean): void {
    if (this.problem) throw this.problem;
    const shape = this.shape();
    if (shape) row.wkbGeometry(wkbOf(shape));
    else row.noGeometry();
    if (namesKind) row.property("kind", gpxKinds[this.element]!);
    for (const [name, text] of this.elements) {
      if (this.extensions.has(name) || (name === "name" && this.isTitle(text))) continue;
      if (numbers.has(name)) row.untyped(name, text.trim() === "" ? null : text.trim());
      else row.property(name, name === "time" ? text.trim() : text);
    }
    for (const [name, text] of this.extensions) row.untyped(name, text);
  }

  private closeInPosition(name: string, above: string | undefined, text: string): void {
    if (name === "rtept" || name === "trkpt") return;
    this.hadPositionValues = true;
    if (name !== "time" || (above !== "rtept" && above !== "trkpt")) return;
    if (!this.elements.has("begin")) this.elements.set("begin", text.trim());
    this.elements.set("end", text.trim());
  }

  private add(element: XmlElement): void {
    const [x, y] = [element.attribute("lon"), element.attribute("lat")].map((text) =>
      text === undefined || text.trim() === "" ? Number.NaN : Number(text),
    );
    const part = this.parts.at(-1);
    if (this.problem) return;
    try {
      if (!part || !Number.isFinite(x) || !Number.isFinite(y))
        throw badGeometry("a position has no longitude or no latitude");
      addPosition(part, x!, y!);
    } catch (error) {
      if (!(error instanceof BadFeature)) throw error;
      this.problem = error;
    }
  }

  private setHeight(text: string): void {
    const part = this.parts.at(-1);
    const height = text.trim() === "" ? Number.NaN : Number(text);
    if (part && part.length > 0) part[part.length - 1] = height;
  }

  private shape(): Shape | undefined {
    if (this.element === "wpt") {
      const points = this.parts.map((positions): Shape => ({ kind: "Point", positions }));
      return points.length === 1 ? points[0] : { kind: "Multi", members: points };
    }
    const lines = this.parts.filter(({ length }) => length > 3);
    this.hadShortPart = this.parts.some(({ length }) => length === 3);
    if (lines.length === 1) return { kind: "LineString", positions: lines[0]! };
    const members = lines.map((positions): Shape => ({ kind: "LineString", positions }));
    return lines.length > 0 ? { kind: "Multi", members } : undefined;
  }

  /** Whether the name only repeats a value: programs choose one for devices to show. */
  private isTitle(name: string): boolean {
    return [...this.extensions.values()].includes(name);
  }
}

const sameValues = (some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean =>
  some.size === others.size && [...some].every(([name, text]) => others.get(name) === text);
