import type { ImageMessages } from "../../../src/hosts/messages.js";
import { printDocument } from "./document.js";

/** The thread of the image host that prints. */
export default (request: ImageMessages["print"][0]): Promise<ImageMessages["print"][1]> =>
  printDocument(request);
