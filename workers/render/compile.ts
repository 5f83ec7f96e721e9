import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { allowedFunctions, allowedProperties } from "../../src/style/allowed.js";
import { type CheckedMap, checkMap, PropertyError } from "../../src/style/check.js";
import { StyleError } from "../../src/style/lexer.js";
import { readStylesheet } from "../../src/style/source.js";
import {
  checkVariables,
  type Stylesheet,
  type StylesheetTextOptions,
  stylesheetText,
} from "../../src/style/stylesheet.js";
import { Carto, CartoError } from "./carto.js";

/** No icons can be installed yet. */
const icons: ReadonlySet<string> = new Set();
const vocabulary = { properties: allowedProperties, functions: allowedFunctions };

const carto = new Carto();

export type StyleTexts = Pick<CompileRequest, "mapStyle" | "layerStyle" | "layerCode">;

/**
 * Compiles CartoCSS and checks the result. The work is bounded to about a second; the caller enforces the deadline of
 * the request.
 */
export function compileStyle(request: StyleTexts): CompileResponse {
  try {
    return { ok: true, ...new Compilation(request).run() };
  } catch (error) {
    if (error instanceof CompileError) return { ok: false, error: error.message };
    throw error;
  }
}

/** Its message is shown to the style's author. */
class CompileError extends Error {}

type SheetName = "map" | "layer";

class Compilation {
  private readonly sheets = new Map<SheetName, Stylesheet>();

  constructor(private readonly request: StyleTexts) {
    carto.resetSteps();
  }

  run(): CheckedMap {
    const map = this.read("map", this.request.mapStyle);
    if (this.request.layerStyle === undefined) return this.mapOnly(map);
    const layer = this.read("layer", this.request.layerStyle);
    const { style } = this.compileLayer(map, layer, this.request.layerCode);
    return { style, map: map.hasMap ? this.mapProperties(map) : {} };
  }

  private read(name: SheetName, css: string): Stylesheet {
    const sheet = this.withLocation(() => readStylesheet(css, vocabulary), name);
    this.sheets.set(name, sheet);
    this.withLocation(() => checkVariables([...this.sheets.values()]), name);
    return sheet;
  }

  /** The map's style without a layer: its properties; its rules are checked for each layer that it names. */
  private mapOnly(map: Stylesheet): CheckedMap {
    const layers = new Map([...map.ids, ""].map((code, index) => [code, `layer${index}`]));
    const text = stylesheetText(map, { ...mapTextOptions(undefined), id: (id) => layers.get(id) ?? "other" });
    const checked = this.withLocation(
      () => checkMap(carto.run([{ id: "map", text }], [...layers.values()]), icons),
      "map",
    );
    return { style: { styles: [], fields: [], bufferPixels: 1 }, map: checked.map };
  }

  private mapProperties(map: Stylesheet): CheckedMap["map"] {
    const text = stylesheetText(map, mapTextOptions(undefined));
    return this.withLocation(() => checkMap(carto.run([{ id: "map", text }], []), icons), "map").map;
  }

  /** The layer's rules come first, so that they override the map's whatever their selectors; its variables likewise. */
  private compileLayer(map: Stylesheet, layer: Stylesheet, code: string | undefined): CheckedMap {
    const variables = stylesheetText(map, { ...mapTextOptions(code), only: "variables" });
    const base = stylesheetText(map, { ...mapTextOptions(code), only: "rules" });
    const own = stylesheetText(layer, { id: () => "layer", className: "layer" });
    // carto orders drawing by the position in the text, so the layer's rules must have higher positions than the map's.
    const sources = [
      { id: "map", text: variables },
      { id: "layer", text: `${" ".repeat(base.length)}${own}` },
      { id: "base", text: base },
    ];
    if (base.trim() === "") sources.pop();
    return this.withLocation(() => checkMap(carto.run(sources, ["layer"]), icons), "layer");
  }

  /** Adds the stylesheet and the line, if known, to the messages of errors. */
  private withLocation<T>(work: () => T, sheet: SheetName): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof StyleError)) throw error;
      let place = sheet;
      let line = error.line === undefined ? undefined : String(error.line);
      if (error instanceof CartoError && error.source !== undefined)
        place = error.source === "layer" ? "layer" : "map";
      if (error instanceof PropertyError) ({ place, line } = this.locate(error.property, sheet));
      const where = [
        ...(place === "map" && this.request.layerStyle !== undefined ? ["in the map's style"] : []),
        ...(line === undefined ? [] : [`line ${line}`]),
      ].join(", ");
      throw new CompileError(
        where ? `${where[0]?.toUpperCase()}${where.slice(1)}: ${error.message}` : error.message,
      );
    }
  }

  /** Where a property is set; no line when there are many. */
  private locate(property: string, sheet: SheetName): { place: SheetName; line: string | undefined } {
    for (const place of new Set<SheetName>([sheet, "layer", "map"])) {
      const lines = this.sheets.get(place)?.declarations.filter((one) => one.property === property) ?? [];
      if (lines.length > 0) {
        const numbers = [...new Set(lines.map((one) => one.line))];
        return { place, line: numbers.length <= 3 ? numbers.join(" or ") : undefined };
      }
    }
    return { place: sheet, line: undefined };
  }
}

/** In the map's style ids are layer codes; layers have no classes. */
const mapTextOptions = (code: string | undefined): StylesheetTextOptions => ({
  id: (id) => (id === code ? "layer" : "other"),
  className: "other",
});
