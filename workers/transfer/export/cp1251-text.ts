import { decimalText } from "./decimal-text.js";
import { cp1251Byte } from "./encodings.js";

/** A growable buffer for text in Windows-1251. */
export class Cp1251Text {
  private bytes = Buffer.allocUnsafeSlow(initialBytes);
  length = 0;

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Appends characters of Windows-1251. */
  add(text: string): void {
    this.reserve(text.length);
    const { bytes } = this;
    let at = this.length;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      bytes[at++] = unit < 0x80 ? unit : cp1251Byte(unit);
    }
    this.length = at;
  }

  /** The shortest text that gives the same double when it is read. */
  number(value: number): void {
    this.add(String(value));
  }

  /** A finite number with so many digits after the point, and without an exponent. */
  decimal(value: number, decimals: number): void {
    this.add(decimalText(value, decimals));
  }

  /** The text since the last call. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.allocUnsafeSlow(initialBytes);
    this.length = 0;
    return taken;
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * this.bytes.length + more);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

const initialBytes = 4 * 1024 ** 2;
