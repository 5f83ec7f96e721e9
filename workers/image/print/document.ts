import PDFDocument from "pdfkit";
import type { PrintedItem, PrintRequest } from "../../../src/hosts/messages.js";
import { drawMap } from "./map.js";
import { type Line, linesOf, type Measure } from "./text.js";

/** Prints an object: A4 pages with its name, a map, its attributes and its pictures. Lengths are points. */

const fonts = "/usr/share/fonts/truetype/dejavu";
const margin = 48;
const page = { width: 595.28, height: 841.89 };
const inner = page.width - 2 * margin;
const bottom = page.height - margin - 18;
const labelWidth = 150;
const gap = 14;
const leading = 1.35;
const ink = { text: "#1b1f24", soft: "#5c6670", rule: "#d5dadf" };

interface Face {
  readonly font: "regular" | "bold";
  readonly size: number;
  readonly color: string;
}
const faces = {
  title: { font: "bold", size: 18, color: ink.text },
  subtitle: { font: "regular", size: 11, color: ink.soft },
  headings: [
    { font: "bold", size: 13, color: ink.text },
    { font: "bold", size: 11, color: ink.text },
    { font: "bold", size: 10, color: ink.soft },
  ],
  label: { font: "regular", size: 9, color: ink.soft },
  value: { font: "regular", size: 9, color: ink.text },
  note: { font: "regular", size: 7, color: ink.soft },
} as const satisfies Record<string, Face | readonly Face[]>;

/** The PDF. */
export async function printDocument(request: PrintRequest): Promise<Uint8Array> {
  const doc = new PDFDocument({
    size: "A4",
    // The margins are kept here; pdfkit would begin pages of its own at its margins.
    margin: 0,
    bufferPages: true,
    lang: request.language,
    displayTitle: true,
    info: { Title: request.title, Subject: request.subtitle, Creator: "Mapwright", Producer: "Mapwright" },
    // None to begin with: a font that is there under its own name is not found by the name that it is registered under.
    font: "",
  });
  doc.registerFont("regular", `${fonts}/DejaVuSans.ttf`);
  doc.registerFont("bold", `${fonts}/DejaVuSans-Bold.ttf`);
  const chunks: Buffer[] = [];
  const whole = new Promise<Uint8Array>((resolve, reject) => {
    doc.on("data", (chunk: Buffer) => chunks.push(chunk));
    doc.on("end", () => resolve(Buffer.concat(chunks)));
    doc.on("error", reject);
  });
  new Sheet(doc).print(request);
  doc.end();
  return whole;
}

class Sheet {
  private y = margin;
  private readonly widths = new Map<string, number>();

  constructor(private readonly doc: PDFKit.PDFDocument) {}

  print(request: PrintRequest): void {
    this.block(request.title, faces.title, { x: margin, width: inner });
    this.y += 2;
    this.block(request.subtitle, faces.subtitle, { x: margin, width: inner });
    this.y += 12;
    if (request.map) {
      const height = (inner * request.map.height) / request.map.width;
      drawMap(this.doc, request.map, { x: margin, y: this.y, width: inner });
      this.y += height + 3;
      if (request.map.attribution !== "")
        this.block(request.map.attribution, faces.note, { x: margin, width: inner });
      this.y += 10;
    }
    for (const item of request.items) this.item(item);
    for (const picture of request.pictures) this.picture(picture);
    this.numberPages();
  }

  private item(item: PrintedItem): void {
    if (item.kind === "heading") {
      const face = faces.headings[Math.min(item.level, faces.headings.length - 1)]!;
      this.y += 8;
      // A heading stays with the first lines of what it heads.
      this.room(face.size * leading + 40);
      this.block(item.text, face, { x: margin, width: inner });
      this.y += 4;
      return;
    }
    const label = [...this.lines(item.label, faces.label, labelWidth)];
    const values = this.lines(item.value, faces.value, inner - labelWidth - gap);
    const height = faces.value.size * leading;
    this.room(height + 6);
    this.y += 3;
    for (let index = 0; ; index++) {
      const next = values.next();
      const left = label[index];
      if (next.done && !left) break;
      this.room(height);
      if (left) this.write(left, faces.label, { x: margin, width: labelWidth });
      if (!next.done) {
        const x = margin + labelWidth + gap;
        this.write(next.value, faces.value, { x, width: inner - labelWidth - gap });
      }
      this.y += height;
    }
    this.y += 3;
    this.doc
      .moveTo(margin, this.y)
      .lineTo(page.width - margin, this.y)
      .lineWidth(0.5)
      .strokeColor(ink.rule)
      .stroke();
  }

  private picture({ caption, jpeg }: PrintRequest["pictures"][number]): void {
    // pdfkit knows sizes of opened images, which its types leave out.
    const image = (
      this.doc as unknown as { openImage(bytes: Buffer): { width: number; height: number } }
    ).openImage(Buffer.from(jpeg));
    const scale = Math.min(1, inner / image.width, 320 / image.height);
    const [width, height] = [image.width * scale, image.height * scale];
    this.y += 12;
    this.room(height + 20);
    this.doc.image(image as unknown as Buffer, margin, this.y, { width, height });
    this.y += height + 4;
    this.block(caption, faces.label, { x: margin, width: inner });
  }

  /** All lines of a text, over as many pages as it takes. */
  private block(text: string, face: Face, place: { x: number; width: number }): void {
    for (const line of this.lines(text, face, place.width)) {
      this.room(face.size * leading);
      this.write(line, face, place);
      this.y += face.size * leading;
    }
  }

  private lines(text: string, face: Face, width: number) {
    return linesOf(text, width, this.measure(face));
  }

  private write({ parts, rightToLeft }: Line, face: Face, place: { x: number; width: number }): void {
    // A line that is one text and begins at the left is not measured.
    const widths = parts.length > 1 || rightToLeft ? parts.map(this.measure(face)) : [];
    const width = widths.reduce((sum, one) => sum + one, 0);
    let x = rightToLeft ? place.x + Math.max(0, place.width - width) : place.x;
    this.doc.font(face.font).fontSize(face.size).fillColor(face.color);
    parts.forEach((part, index) => {
      if (part.trim() !== "") this.doc.text(part, x, this.y, { lineBreak: false });
      x += widths[index] ?? 0;
    });
  }

  /** Widths are remembered: the words of a text repeat. */
  private measure(face: Face): Measure {
    return (text) => {
      const key = `${face.font}${face.size} ${text}`;
      const known = this.widths.get(key);
      if (known !== undefined) return known;
      if (this.widths.size > 50_000) this.widths.clear();
      const width = this.doc.font(face.font).fontSize(face.size).widthOfString(text);
      this.widths.set(key, width);
      return width;
    };
  }

  /** Begins another page when less than `height` is left of this one. */
  private room(height: number): void {
    if (this.y + height <= bottom || this.y === margin) return;
    this.doc.addPage();
    this.y = margin;
  }

  private numberPages(): void {
    const { start, count } = this.doc.bufferedPageRange();
    if (count < 2) return;
    for (let index = start; index < start + count; index++) {
      this.doc.switchToPage(index);
      const text = `${index - start + 1} / ${count}`;
      this.doc.font("regular").fontSize(faces.note.size).fillColor(faces.note.color);
      const x = (page.width - this.doc.widthOfString(text)) / 2;
      this.doc.text(text, x, page.height - margin, { lineBreak: false });
    }
  }
}
