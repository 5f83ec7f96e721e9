import type { PrintedMap, PrintedPlace } from "../../../src/hosts/messages.js";

/** The map of a printed object: tiles, and the object over them. */

const mark = { line: "#d6336c", fill: "#d6336c" };

/** @param place where its top left corner goes, and how wide it becomes; points */
export function drawMap(
  doc: PDFKit.PDFDocument,
  map: PrintedMap,
  place: { readonly x: number; readonly y: number; readonly width: number },
): void {
  const scale = place.width / map.width;
  const at = ([x, y]: PrintedPlace): [number, number] => [place.x + x * scale, place.y + y * scale];
  const height = map.height * scale;
  doc.save();
  doc.rect(place.x, place.y, place.width, height).clip();
  doc.rect(place.x, place.y, place.width, height).fill("#eef1f3");
  const side = map.tileSide * scale;
  for (const tile of map.tiles) {
    const [x, y] = at([tile.x, tile.y]);
    doc.image(Buffer.from(tile.png), x, y, { width: side, height: side });
  }
  const path = (places: readonly PrintedPlace[], close: boolean) => {
    places.forEach((one, index) => {
      const [x, y] = at(one);
      if (index === 0) doc.moveTo(x, y);
      else doc.lineTo(x, y);
    });
    if (close) doc.closePath();
  };
  doc.lineWidth(1.5).lineJoin("round").lineCap("round");
  for (const rings of map.areas) {
    for (const ring of rings) path(ring, true);
    doc.fillColor(mark.fill, 0.2).strokeColor(mark.line, 1).fillAndStroke("even-odd");
  }
  doc.lineWidth(2.5);
  for (const line of map.lines) {
    path(line, false);
    doc.strokeColor(mark.line, 1).stroke();
  }
  doc.lineWidth(1.5);
  for (const point of map.points) {
    doc
      .circle(...at(point), 4.5)
      .fillColor(mark.fill, 1)
      .strokeColor("#ffffff", 1)
      .fillAndStroke();
  }
  doc.restore();
  doc.rect(place.x, place.y, place.width, height).lineWidth(0.5).strokeColor("#b8c0c8", 1).stroke();
}
