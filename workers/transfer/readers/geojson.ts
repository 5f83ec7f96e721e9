import { closeSync, openSync } from "node:fs";
import { Byte, parseAt, stringAt } from "../json.js";
import { refused } from "../refusal.js";
import type { RowSink } from "../sink.js";
import { transformFrom } from "../srs.js";
import { JsonWindow, type Span } from "../window.js";
import { writeFeature } from "./geojson-feature.js";
import type { Reader } from "./reader.js";

/** Reads features from a GeoJSON file or a GeoJSON text sequence. */

/**
 * One GeoJSON text: a FeatureCollection, a single Feature or a bare geometry (RFC 7946). It has its own reader because
 * GDAL's changes values: it chooses types by what it can store, rewrites dates and rounds large numbers.
 */
export const readGeoJson: Reader = async ({ path, sink, srs }) => {
  const { crs, title } = await addAll(documentFeatures(path), sink);
  sink.title = title;
  // The member may come after the features, so the file may have to be read twice. The request's srs takes precedence.
  const transform = crs === undefined || srs.isGiven ? undefined : transformFrom(crs);
  if (!transform) return;
  await sink.restart();
  sink.transform = transform;
  await addAll(documentFeatures(path), sink);
};

/** GeoJSON texts one after the other, usually one per line, with or without record separators (RFC 8142). */
export const readGeoJsonSequence: Reader = async ({ path, sink }) => {
  await addAll(sequenceFeatures(path), sink);
};

/** Adds all features. @returns what the generator returns */
async function addAll<T>(features: Generator<Span, T, undefined>, sink: RowSink): Promise<T> {
  for (;;) {
    const next = features.next();
    if (next.done) return next.value;
    sink.add((row) => writeFeature(row, next.value));
    if (sink.isFull) await sink.flush();
  }
}

interface DocumentFacts {
  /** The name in the member `crs`. */
  readonly crs: string | undefined;
  /** The member `title` or `name`, which GDAL writes; RFC 7946 has none. */
  readonly title: string | undefined;
}

/** Yields the features of a file one by one; returns what the document tells of them all. */
function* documentFeatures(path: string): Generator<Span, DocumentFacts, undefined> {
  const file = openSync(path, "r");
  try {
    const window = new JsonWindow(file);
    if (window.peek() !== Byte.openObject) throw refused("The file is not GeoJSON.");
    let type: unknown;
    let crs: string | undefined;
    const titles: Record<string, unknown> = {};
    let collection = false;
    window.expect(Byte.openObject);
    if (!window.accept(Byte.closeObject)) {
      do {
        if (window.peek() !== Byte.quote) throw window.unexpected();
        const name = window.value();
        const key = stringAt(name.bytes, name.start, name.end);
        window.expect(Byte.colon);
        if (key === "features" && window.peek() === Byte.openArray) {
          if (collection) throw refused('The file has two members "features".');
          collection = true;
          yield* arrayElements(window);
          continue;
        }
        const value = window.value();
        if (key === "type") type = parseAt(value.bytes, value.start, value.end);
        else if (key === "crs") crs = crsName(parseAt(value.bytes, value.start, value.end));
        // A single feature is read again as a whole, so its members are only skipped here; others are checked to be JSON.
        else if (key !== "geometry" && key !== "coordinates" && key !== "geometries") {
          const parsed = parseAt(value.bytes, value.start, value.end);
          if (key === "title" || key === "name") titles[key] = parsed;
        }
      } while (window.accept(Byte.comma));
      window.expect(Byte.closeObject);
    }
    if (window.peek() !== -1) throw refused("The file has data after the end of its GeoJSON.");
    if (collection !== (type === "FeatureCollection")) {
      throw refused(
        'The file is not GeoJSON: "type": "FeatureCollection" requires "features", and the reverse.',
      );
    }
    if (!collection) yield* wholeFile(path);
    const title = [titles.title, titles.name].find((one) => typeof one === "string" && one !== "");
    return { crs, title: title as string | undefined };
  } finally {
    closeSync(file);
  }
}

function* sequenceFeatures(path: string): Generator<Span, void, undefined> {
  const file = openSync(path, "r");
  try {
    const window = new JsonWindow(file);
    for (;;) {
      while (window.accept(Byte.recordSeparator));
      const next = window.peek();
      if (next === -1) return;
      if (next !== Byte.openObject) throw refused("The file is not a sequence of GeoJSON features.");
      yield window.value();
    }
  } finally {
    closeSync(file);
  }
}

function* arrayElements(window: JsonWindow): Generator<Span, void, undefined> {
  window.expect(Byte.openArray);
  if (window.accept(Byte.closeArray)) return;
  do {
    if (window.peek() !== Byte.openObject) throw window.unexpected();
    yield window.value();
  } while (window.accept(Byte.comma));
  window.expect(Byte.closeArray);
}

function* wholeFile(path: string): Generator<Span, void, undefined> {
  const file = openSync(path, "r");
  try {
    yield new JsonWindow(file).value();
  } finally {
    closeSync(file);
  }
}

/** The name in the `crs` member of GeoJSON 2008. @throws Refusal for linked systems, which are never loaded */
function crsName(crs: unknown): string | undefined {
  if (crs === null) return undefined;
  if (typeof crs === "object" && "type" in crs && crs.type === "name" && "properties" in crs) {
    const properties = crs.properties;
    if (typeof properties === "object" && properties !== null && "name" in properties) {
      if (typeof properties.name === "string") return properties.name;
    }
  }
  throw refused('The member "crs" of the file does not name a spatial reference.');
}
