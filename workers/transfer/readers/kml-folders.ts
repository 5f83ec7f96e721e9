import { fileChunks, readXml, type XmlElement, type XmlHandler, xmlText } from "../xml.js";
import type { FindTables } from "./reader.js";

/** The folders of a KML document, whose Placemarks can be read as tables. */

/** Those of KML, and the usual prefixes for documents that do not declare them. */
const namespaces =
  /^(?:https?:\/\/(?:earth\.google\.com|www\.opengis\.net|www\.google\.com)\/kml\b.*|gx|kml|)$/i;

/** The name of an element of KML; "" = it is of something else. */
export const kmlName = ({ namespace, name }: XmlElement): string => (namespaces.test(namespace) ? name : "");

/** Where a Placemark is. @param names of the folders around it, the outermost first */
export const folderPath = (names: readonly string[]): string => names.filter((name) => name !== "").join("/");

/** Characters of a path that count. */
const longestPath = 1_000;
/** Folders that are told apart; Placemarks of further ones can only be read with all others. */
const mostFolders = 1_000;

/** Of the table with the Placemarks of a folder. */
export const tableName = (folder: string): string => folder.slice(0, longestPath);

/** Folders that have Placemarks of their own. A document whose Placemarks are all in one place is one table. */
export const findFolders: FindTables = async ({ path, encoding }) => {
  const text = () => xmlText(fileChunks(path), encoding);
  if (!(await hasFolders(text()))) return [];
  const handler = new FolderHandler();
  await readXml(text(), handler, async () => undefined);
  const { counts } = handler;
  return counts.size < 2 ? [] : [...counts].map(([name, features], place) => ({ name, place, features }));
};

/** Counts the Placemarks of each folder. */
class FolderHandler implements XmlHandler {
  wantsText = false;
  readonly counts = new Map<string, number>();
  private readonly path: string[] = [];
  private readonly folders: string[] = [];

  open(element: XmlElement): void {
    const name = kmlName(element);
    this.wantsText = name === "name" && this.path.at(-1) === "Folder";
    if (this.path.at(-1) === "Placemark" || this.path.at(-1) === inPlacemark) this.path.push(inPlacemark);
    else {
      if (name === "Folder") this.folders.push("");
      this.path.push(name);
    }
  }

  close(_name: string, text: string): void {
    const name = this.path.pop();
    if (name === "Placemark") this.count();
    else if (name === "Folder") this.folders.pop();
    else if (name === "name" && this.path.at(-1) === "Folder")
      this.folders[this.folders.length - 1] = text.trim();
  }

  private count(): void {
    const { counts } = this;
    const name = tableName(folderPath(this.folders));
    const known = counts.get(name);
    if (known !== undefined || counts.size < mostFolders) counts.set(name, (known ?? 0) + 1);
  }
}

const inPlacemark = " ";

/** Whether the document has several folders. Programs put all Placemarks into one folder that says nothing. */
export async function hasFolders(text: AsyncIterable<string>): Promise<boolean> {
  let count = 0;
  let rest = "";
  for await (const piece of text) {
    const part = rest + piece;
    const ends = part.match(/<\/(?:[\w-]+:)?Folder\s*>/g);
    count += ends?.length ?? 0;
    if (count > 1) return true;
    // An end tag may lie across two pieces.
    const last = part.lastIndexOf("<");
    rest = last < 0 || part.length - last > 100 || part.includes(">", last) ? "" : part.slice(last);
  }
  return false;
}
