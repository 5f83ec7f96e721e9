import { BadFeature } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { wkbOf } from "../shapes.js";
import type { XmlElement } from "../xml.js";
import { KmlGeometry } from "./kml-geometry.js";

/** One Placemark of a KML file: its geometry and its values. */

/** Types of the fields of a Schema by name, in lower case. */
export type Schema = ReadonlyMap<string, string>;

/** Elements of a Placemark that become properties, by the names of those. */
const properties: Readonly<Record<string, string>> = {
  name: "name",
  description: "description",
  address: "address",
  phoneNumber: "phoneNumber",
  Snippet: "snippet",
  snippet: "snippet",
  "TimeStamp/when": "timestamp",
  "TimeSpan/begin": "begin",
  "TimeSpan/end": "end",
};
const numberTypes: ReadonlySet<string> = new Set(["int", "uint", "short", "ushort", "float", "double"]);

interface Value {
  readonly text: string;
  /** Type of a Schema; undefined = to be found from the values. */
  readonly type: string | undefined;
  /** Whether the text is JSON. */
  readonly isJson?: boolean;
}

export class Placemark {
  private readonly geometry = new KmlGeometry();
  private readonly elements = new Map<string, string>();
  private readonly values = new Map<string, Value | null>();
  /** Names of the open elements below the Placemark. */
  private readonly path: string[] = [];
  private schema: Schema | undefined;
  /** Name of the open Data, SimpleData or SimpleArrayData. */
  private valueName = "";
  private list: string[] = [];
  private problem: BadFeature | undefined;

  /** @param id value of the attribute */
  constructor(
    private readonly id: string | undefined,
    private readonly schemas: ReadonlyMap<string, Schema>,
  ) {}

  /** What had to be repaired. */
  get hadOpenRing(): boolean {
    return this.geometry.hadOpenRing;
  }

  /** Whether the times of positions of a track are left out. */
  get hasTimes(): boolean {
    return this.geometry.begin !== this.geometry.end;
  }

  /** @param name "" for elements of other namespaces */
  open(name: string, element: XmlElement): void {
    this.path.push(name);
    if (this.geometry.open(name)) return;
    if (name === "SchemaData") this.openSchema(element.attribute("schemaUrl") ?? "");
    if (name === "Data" || name === "SimpleData" || name === "SimpleArrayData") {
      this.valueName = element.attribute("name") ?? "";
      this.list = [];
    }
    if (name === "" && this.path.length === 2) this.valueName = element.name;
  }

  close(text: string): void {
    const path = this.path.join("/");
    const name = this.path.pop()!;
    if (this.geometry.isOpen) this.closeGeometry(name, text);
    else if (Object.hasOwn(properties, path))
      this.elements.set(properties[path]!, path.includes("/") ? text.trim() : text);
    else if (path === "ExtendedData/Data/value") this.set(text, undefined);
    else if (path === "ExtendedData/SchemaData/SimpleData") this.set(text, this.schema?.get(this.valueName));
    else if (path === "ExtendedData/SchemaData/SimpleArrayData/value") this.list.push(text);
    else if (path === "ExtendedData/SchemaData/SimpleArrayData")
      this.set(JSON.stringify(this.list), undefined, true);
    else if (path === "ExtendedData/") this.set(text, undefined);
  }

  /** @throws BadFeature */
  write(row: RowEncoder, folder: string | undefined): void {
    if (this.problem) throw this.problem;
    const { shape, begin, end } = this.geometry;
    if (shape) row.wkbGeometry(wkbOf(shape));
    else row.noGeometry();
    if (folder !== undefined) row.property("folder", folder);
    if (begin !== undefined && !this.elements.has("begin")) this.elements.set("begin", begin);
    if (end !== undefined && !this.elements.has("end")) this.elements.set("end", end);
    for (const [name, text] of this.elements) {
      if (!this.values.has(name) && !(name === "name" && this.isTitle(text))) row.property(name, text);
    }
    for (const [name, value] of this.values) writeValue(row, name, value);
    if (this.id !== undefined && !row.has("id")) row.property("id", this.id);
  }

  private openSchema(url: string): void {
    this.schema = this.schemas.get(url.slice(url.indexOf("#") + 1));
    // A field that a Placemark does not name is null.
    for (const name of this.schema?.keys() ?? []) if (!this.values.has(name)) this.values.set(name, null);
  }

  private closeGeometry(name: string, text: string): void {
    if (this.problem) return;
    try {
      this.geometry.close(name, text);
    } catch (error) {
      if (!(error instanceof BadFeature)) throw error;
      this.problem = error;
    }
  }

  private set(text: string, type: string | undefined, isJson = false): void {
    if (this.valueName !== "") this.values.set(this.valueName, { text, type, isJson });
  }

  /** Whether the name of the Placemark only repeats a field of the Schema: programs choose one for viewers to show. */
  private isTitle(name: string): boolean {
    return this.schema !== undefined && [...this.values.values()].some((value) => value?.text === name);
  }
}

function writeValue(row: RowEncoder, name: string, value: Value | null): void {
  if (value === null) {
    row.property(name, null);
    return;
  }
  const { text, type, isJson } = value;
  const trimmed = text.trim();
  if (isJson) row.json(name, text);
  else if (type === "string") row.property(name, text);
  else if (trimmed === "") row.property(name, null);
  else if (type === "bool" && /^(?:0|1|true|false)$/i.test(trimmed))
    row.property(name, trimmed === "1" || trimmed.toLowerCase() === "true");
  else row.untyped(name, type === undefined || numberTypes.has(type) ? trimmed : text);
}
