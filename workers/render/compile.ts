import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { allowedFunctions, allowedProperties, noticesByProperty } from "../../src/style/allowed.js";
import { type CheckedMap, checkMap, PropertyError } from "../../src/style/check.js";
import { styleClasses } from "../../src/style/classes.js";
import { plainFace } from "../../src/style/fonts.js";
import { type Place, StyleError } from "../../src/style/lexer.js";
import type { CompiledStyle } from "../../src/style/model.js";
import { readStylesheet } from "../../src/style/source.js";
import {
  checkVariables,
  type Declaration,
  type Stylesheet,
  type StylesheetTextOptions,
  sourcePlace,
  stylesheetText,
} from "../../src/style/stylesheet.js";
import { Carto, CartoError } from "./carto.js";

const vocabulary = { properties: allowedProperties, functions: allowedFunctions };

const carto = new Carto();

/** The style of the last map, as the layers of a map come one after the other. */
let lastMap: { readonly css: string; readonly sheet: Stylesheet } | undefined;

/**
 * Compiles CartoCSS and checks the result, within about the deadline of the request. The caller enforces it for what is not
 * carto's work, and bounds the memory.
 */
export function compileStyle(request: CompileRequest): CompileResponse {
  try {
    return { ok: true, ...new Compilation(request).run() };
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return { ok: false, error: error.message, ...(error.deadline && { deadline: true }) };
  }
}

/** Its message is shown to the style's author. */
class CompileError extends Error {
  constructor(
    message: string,
    readonly deadline: boolean,
  ) {
    super(message);
  }
}

/** Places that a message names, where a property is set at several. */
const maxPlaces = 3;

type SheetName = "map" | "layer";

class Compilation {
  private readonly sheets = new Map<SheetName, Stylesheet>();

  constructor(private readonly request: CompileRequest) {
    carto.begin(request.deadlineMs);
  }

  run(): CheckedMap {
    const map = this.read("map", this.request.mapStyle);
    if (this.request.layerStyle === undefined) return this.mapOnly(map);
    const layer = this.read("layer", this.request.layerStyle);
    const { style } = this.compileLayer(map, layer, this.request.layerCode);
    return {
      style: { ...this.described(style), classes: styleClasses(style.styles) },
      map: map.hasMap ? this.mapProperties(map) : {},
    };
  }

  /** The style with the places of its pictures, and with notices. */
  private described(style: CompiledStyle): CompiledStyle {
    const pictures = style.pictures?.map((picture) => ({
      ...picture,
      place: this.placeOf((one) => namesPicture(one, picture.name)),
    }));
    const faces = style.faces?.map((use) => ({
      ...use,
      place: this.placeOf((one) => namesFace(one, use.names[0]!)),
    }));
    const notices = [...noticesByProperty].flatMap(([property, notice]) => {
      const place = this.placeOf((one) => one.property === property);
      return place === "" ? [] : [`${place}: ${notice}`];
    });
    return {
      ...style,
      ...(pictures && { pictures }),
      ...(faces && { faces }),
      ...(notices.length > 0 && { notices }),
    };
  }

  /** Of the first declaration of the kind; "" = there is none. */
  private placeOf(wanted: (declaration: Declaration) => boolean): string {
    for (const sheet of ["layer", "map"] as const) {
      const found = this.sheets.get(sheet)?.declarations.find(wanted);
      if (found) return this.where(sheet, [found.place]);
    }
    return "";
  }

  private read(name: SheetName, css: string): Stylesheet {
    const sheet =
      name === "map" && lastMap?.css === css
        ? lastMap.sheet
        : this.withLocation(() => readStylesheet(css, vocabulary), name);
    if (name === "map") lastMap = { css, sheet };
    this.sheets.set(name, sheet);
    this.withLocation(() => checkVariables([...this.sheets.values()]), name);
    return sheet;
  }

  /** The map's style without a layer: its properties; its rules are checked for each layer that it names. */
  private mapOnly(map: Stylesheet): CheckedMap {
    const layers = new Map([...map.ids, ""].map((code, index) => [code, `layer${index}`]));
    const options = { ...mapTextOptions(undefined), id: (id: string) => layers.get(id) ?? "other" };
    const text = stylesheetText(map, options);
    const { map: properties, style } = this.withLocation(
      () => checkMap(carto.run([{ id: "map", text }], [...layers.values()])),
      "map",
      options,
    );
    const { pictures, faces } = style;
    const named = { ...(pictures && { pictures }), ...(faces && { faces }) };
    return {
      style: this.described({ styles: [], fields: [], bufferPixels: 1, ...named }),
      map: properties,
    };
  }

  private mapProperties(map: Stylesheet): CheckedMap["map"] {
    // Rules for layers have no properties of the map.
    const options = { ...mapTextOptions(undefined), forId: "" };
    const text = stylesheetText(map, options);
    return this.withLocation(() => checkMap(carto.run([{ id: "map", text }], [])), "map", options).map;
  }

  /** The layer's rules come first, so that they override the map's whatever their selectors; its variables likewise. */
  private compileLayer(map: Stylesheet, layer: Stylesheet, code: string | undefined): CheckedMap {
    const mapOptions = { ...mapTextOptions(code), forId: code };
    const variables = stylesheetText(map, { ...mapOptions, only: "variables" });
    const base = stylesheetText(map, { ...mapOptions, only: "rules" });
    const own = stylesheetText(layer, layerTextOptions);
    // carto orders drawing by the position in the text, so the layer's rules must have higher positions than the map's.
    const sources = [
      { id: "map", text: variables },
      { id: "layer", text: `${" ".repeat(base.length)}${own}` },
      { id: "base", text: base },
    ];
    if (base.trim() === "") sources.pop();
    return this.withLocation(() => checkMap(carto.run(sources, ["layer"])), "layer", mapOptions, base.length);
  }

  /** Adds the stylesheet and the place, if known, to the messages of errors. */
  private withLocation<T>(
    work: () => T,
    sheet: SheetName,
    mapOptions: StylesheetTextOptions = mapTextOptions(undefined),
    /** Characters before the layer's own style, in its first line. */
    indent = 0,
  ): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof StyleError)) throw error;
      let found = sheet;
      let places = error.place ? [error.place] : [];
      if (error instanceof CartoError && error.source !== undefined) {
        found = error.source === "layer" ? "layer" : "map";
        const options = found === "layer" ? layerTextOptions : mapOptions;
        places = places.map((place) => this.sourcePlace(found, options, unindented(place, found, indent)));
      }
      if (error instanceof PropertyError) ({ sheet: found, places } = this.locate(error, sheet));
      const where = this.where(found, places);
      const deadline = error instanceof CartoError && error.deadline;
      throw new CompileError(where ? `${where}: ${error.message}` : error.message, deadline);
    }
  }

  private sourcePlace(sheet: SheetName, options: StylesheetTextOptions, place: Place): Place {
    const found = this.sheets.get(sheet);
    return found && place.column !== undefined ? sourcePlace(found, options, place) : place;
  }

  /** "In the map's style, line 3, column 5"; "" = nothing is known. */
  private where(sheet: SheetName, places: readonly Place[]): string {
    const text = [
      ...(sheet === "map" && this.request.layerStyle !== undefined ? ["in the map's style"] : []),
      ...(places.length > 0 ? [placesText(places)] : []),
    ].join(", ");
    return text && `${text[0]?.toUpperCase()}${text.slice(1)}`;
  }

  /** Where a property has a refused value. Of several places those where the value is written as it was refused. */
  private locate(error: PropertyError, sheet: SheetName): { sheet: SheetName; places: Place[] } {
    for (const place of new Set<SheetName>([sheet, "layer", "map"])) {
      const set = this.sheets.get(place)?.declarations.filter((one) => one.property === error.property) ?? [];
      if (set.length === 0) continue;
      const same = set.filter(({ value }) => plain(value) === plain(error.value ?? ""));
      const places = (same.length > 0 ? same.slice(0, 1) : set).map((one) => one.place);
      return { sheet: place, places: places.length <= maxPlaces ? places : [] };
    }
    return { sheet, places: [] };
  }
}

const placesText = (places: readonly Place[]): string =>
  places
    .map(({ line, column }) => (column === undefined ? `line ${line}` : `line ${line}, column ${column}`))
    .join(" or ");

const unindented = ({ line, column }: Place, sheet: SheetName, indent: number): Place => ({
  line,
  column: column !== undefined && sheet === "layer" && line === 1 ? column - indent : column,
});

/** A value without quotes, spaces and the call of url(), which compilers leave out. */
const plain = (value: string): string => value.replace(/^url\(|\)$|['"\s]/g, "");

const namesPicture = ({ property, value }: Declaration, name: string): boolean =>
  property.endsWith("-file") && plain(value).replace(/^(?:\.\/)+/, "") === plain(name);

/** Also by a variable, if it is not known which. */
const namesFace = ({ property, value }: Declaration, name: string): boolean =>
  property.endsWith("face-name") && (value.startsWith("@") || plainFace(value).includes(plainFace(name)));

const layerTextOptions: StylesheetTextOptions = { id: () => "layer", className: "layer" };

/** In the map's style ids are layer codes; layers have no classes. */
const mapTextOptions = (code: string | undefined): StylesheetTextOptions => ({
  id: (id) => (id === code ? "layer" : "other"),
  className: "other",
});
