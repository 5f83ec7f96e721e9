import { refused } from "../refusal.js";
import type { RowSink } from "../sink.js";
import { fileChunks, readXml, type XmlElement, type XmlHandler, xmlText } from "../xml.js";
import { GpxFeature, gpxKinds } from "./gpx-feature.js";
import type { Reader } from "./reader.js";

/**
 * Reads GPX 1.0 and 1.1: waypoints as points, routes and tracks as lines. With several of these in one file, the property
 * `kind` tells them apart.
 */
export const readGpx: Reader = async ({ path, sink, encoding }) => {
  const text = () => xmlText(fileChunks(path), encoding);
  const handler = new GpxHandler(sink, await hasSeveralKinds(text()));
  await readXml(text(), handler, async () => {
    if (sink.isFull) await sink.flush();
  });
  handler.finish();
};

class GpxHandler implements XmlHandler {
  wantsText = true;
  private depth = 0;
  private feature: GpxFeature | undefined;
  /** The one before, to which those that follow may belong. */
  private whole: GpxFeature | undefined;
  private joined = 0;

  constructor(
    private readonly sink: RowSink,
    private namesKinds: boolean,
  ) {}

  open(element: XmlElement): void {
    const { name } = element;
    if (this.depth === 0) {
      if (name !== "gpx") throw refused("The file is not GPX.");
      // In an export of this server the kind tells no more than the geometry does.
      if (element.attribute("creator") === "Mapwright") this.namesKinds = false;
    }
    if (this.depth === 1 && Object.hasOwn(gpxKinds, name)) this.feature = new GpxFeature(name, element);
    else if (this.depth > 1) this.feature?.open(element);
    this.depth++;
  }

  close(_name: string, text: string): void {
    this.depth--;
    if (this.depth > 1) this.feature?.close(text);
    else if (this.depth === 1) this.end();
  }

  /** The document has ended. */
  finish(): void {
    this.write();
    if (this.joined > 0)
      this.sink.note(`Waypoints that were joined to the one before, as parts of one object: ${this.joined}.`);
  }

  private end(): void {
    const { feature } = this;
    if (!feature) return;
    this.feature = undefined;
    if (this.whole?.join(feature)) {
      this.joined++;
      return;
    }
    this.write();
    this.whole = feature;
  }

  private write(): void {
    const { whole: feature, sink } = this;
    if (!feature) return;
    this.whole = undefined;
    sink.add((row) => feature.write(row, this.namesKinds));
    if (feature.hadPositionValues)
      sink.note(
        "Of the times of a track or route the first and the last were kept; other values of single positions, but heights, were left out.",
      );
    if (feature.hadShortPart) sink.note("Parts of tracks and routes with a single position were left out.");
  }
}

async function hasSeveralKinds(text: AsyncIterable<string>): Promise<boolean> {
  const kinds = new Set<string>();
  let rest = "";
  for await (const piece of text) {
    const part = rest + piece;
    for (const [, kind] of part.matchAll(/<(?:[\w-]+:)?(wpt|rte|trk)[\s>/]/g)) kinds.add(kind!);
    if (kinds.size > 1) return true;
    // A tag may lie across two pieces.
    rest = part.slice(-50);
  }
  return false;
}
