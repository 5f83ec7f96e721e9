import type { DrawRequest } from "../../src/hosts/messages.js";
import { sharp } from "./vips.js";

/** An SVG as PNG of `size` × `size` pixels. */
export const draw = ({ svg, size }: DrawRequest): Promise<Uint8Array> =>
  sharp(Buffer.from(svg)).resize(size, size, { fit: "fill" }).png({ compressionLevel: 9 }).toBuffer();
