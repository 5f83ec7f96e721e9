import { refused } from "../refusal.js";
import type { RowSink } from "../sink.js";
import { fileChunks, readXml, type XmlElement, type XmlHandler, xmlText } from "../xml.js";
import { folderPath, hasFolders, kmlName, tableName } from "./kml-folders.js";
import { Placemark, type Schema } from "./kml-placemark.js";
import type { OwnTable, Reader } from "./reader.js";

/**
 * Reads KML 2.0 to 2.3: each Placemark is a feature. Links, icons, styles and overlays are neither read nor followed. It has
 * its own reader because GDAL's loses times and the exactness of numbers, and adds columns and heights. The package togeojson
 * 7.1.3 needs the whole document in memory: a file of 39 MB takes it 25 seconds and 1.2 GB, and 5 seconds and 0.13 GB here.
 */
export const readKml: Reader = async ({ path, sink, encoding, table }) => {
  const text = () => xmlText(fileChunks(path), encoding);
  const handler = new KmlHandler(sink, { namesFolders: !table && (await hasFolders(text())), table });
  await readXml(text(), handler, async () => {
    if (sink.isFull) await sink.flush();
  });
  if (handler.others.size > 0)
    sink.note(`Of the KML these elements were left out: ${[...handler.others].sort().join(", ")}.`);
};

const roots: ReadonlySet<string> = new Set(["kml", "Document", "Folder", "Placemark"]);
/** Elements that show something and are no Placemarks. */
const otherElements: ReadonlySet<string> = new Set([
  "NetworkLink",
  "GroundOverlay",
  "ScreenOverlay",
  "PhotoOverlay",
  "Tour",
  "Model",
]);
/** The fields that one Schema may have; a layer may have fewer columns. */
const maxSchemaFields = 10_000;
const maxSchemas = 10_000;

class KmlHandler implements XmlHandler {
  wantsText = false;
  readonly others = new Set<string>();
  private readonly schemas = new Map<string, Schema>();
  private schema: Map<string, string> | undefined;
  /** Names of the open folders. */
  private readonly folders: string[] = [];
  /** Names of the open elements outside Placemarks. */
  private readonly path: string[] = [];
  private placemark: Placemark | undefined;
  private depthInPlacemark = 0;

  constructor(
    private readonly sink: RowSink,
    private readonly options: {
      /** Whether the folder of a Placemark tells something. */
      readonly namesFolders: boolean;
      /** The folder whose Placemarks are read; undefined = those of all. */
      readonly table: OwnTable | undefined;
    },
  ) {}

  open(element: XmlElement): void {
    const name = kmlName(element);
    if (otherElements.has(name)) this.others.add(name);
    if (this.placemark) {
      this.depthInPlacemark++;
      this.placemark.open(name, element);
      this.wantsText = true;
      return;
    }
    if (this.path.length === 0 && !roots.has(name)) throw refused("The file is not KML.");
    if (name === "Placemark") {
      this.placemark = new Placemark(element.attribute("id"), this.schemas);
      this.depthInPlacemark = 0;
      this.wantsText = false;
      return;
    }
    this.wantsText = name === "name" && ["Folder", "Document"].includes(this.path.at(-1) ?? "");
    if (name === "Folder") this.folders.push("");
    else if (name === "Schema") this.openSchema(element);
    else if (name === "SimpleField" || name === "SimpleArrayField") this.addField(element);
    this.path.push(name);
  }

  close(_name: string, text: string): void {
    if (this.placemark && this.depthInPlacemark > 0) {
      this.depthInPlacemark--;
      this.placemark.close(text);
      return;
    }
    if (this.placemark) {
      this.add(this.placemark);
      this.placemark = undefined;
      return;
    }
    const name = this.path.pop();
    if (name === "Folder") this.folders.pop();
    else if (name === "name" && this.path.at(-1) === "Folder")
      this.folders[this.folders.length - 1] = text.trim();
    else if (name === "name" && this.path.at(-1) === "Document") this.sink.title ??= text.trim();
    else if (name === "Schema") this.schema = undefined;
  }

  private add(placemark: Placemark): void {
    const { sink } = this;
    const { namesFolders, table } = this.options;
    const folder = folderPath(this.folders);
    if (table && tableName(folder) !== table.name) return;
    sink.add((row) => placemark.write(row, namesFolders && folder !== "" ? folder : undefined));
    if (placemark.hadOpenRing)
      sink.note("Rings of polygons that ended elsewhere than they began were closed.");
    if (placemark.hasTimes) sink.note("Of the times of a track the first and the last were kept.");
  }

  private openSchema(element: XmlElement): void {
    const schema = new Map<string, string>();
    this.schema = schema;
    for (const name of [element.attribute("id"), element.attribute("name")])
      if (name !== undefined && !this.schemas.has(name)) this.schemas.set(name, schema);
    if (this.schemas.size > maxSchemas) throw refused("The KML has too many schemas.");
  }

  private addField(element: XmlElement): void {
    const name = element.attribute("name");
    if (!this.schema || name === undefined) return;
    const type = element.attribute("type") ?? "string";
    this.schema.set(name, type.replace(/^.*:/, "").toLowerCase());
    if (this.schema.size > maxSchemaFields) throw refused("A schema of the KML has too many fields.");
  }
}
