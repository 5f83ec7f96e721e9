import { Refusal } from "./refusal.js";
import { fileChunks, readXml, type XmlElement, type XmlHandler, xmlText } from "./xml.js";

/** More links than this are not looked at. */
const maxLinks = 1_000;

/** Addresses of the NetworkLinks of a KML file, as they stand there; none when it cannot be read, as its reader will say. */
export async function networkLinks(path: string): Promise<readonly string[]> {
  const handler = new LinkHandler();
  try {
    await readXml(xmlText(fileChunks(path), undefined), handler, async () => undefined);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [];
  }
  return handler.links;
}

class LinkHandler implements XmlHandler {
  readonly links: string[] = [];
  /** How many NetworkLinks are open. */
  private depth = 0;
  wantsText = false;

  open({ name }: XmlElement): void {
    if (name === "NetworkLink") this.depth++;
    this.wantsText = this.depth > 0 && name === "href" && this.links.length < maxLinks;
  }

  close(name: string, text: string): void {
    if (name === "NetworkLink") this.depth--;
    else if (name === "href" && this.depth > 0 && text !== "") this.links.push(text.trim());
  }
}
