import { encode } from "uqr";
import { s } from "../dom.js";

/** In modules, as readers need it. */
const quietZone = 4;

/** A QR code as a picture, black on white whatever the colours of the page are. @param label for who does not see it */
export function qrCode(text: string, label: string): SVGSVGElement {
  const { data, size } = encode(text, { ecc: "M", border: quietZone });
  const d = data
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join("");
  const picture = s("svg", {
    viewBox: `0 0 ${size} ${size}`,
    class: "qr-code",
    role: "img",
    "aria-label": label,
  });
  picture.append(
    s("rect", { width: String(size), height: String(size), fill: "#fff" }),
    s("path", { d, fill: "#000", "shape-rendering": "crispEdges" }),
  );
  return picture;
}
