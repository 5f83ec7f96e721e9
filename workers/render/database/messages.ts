/** The few messages of PostgreSQL's protocol (version 3) that Mapnik's library sends, and the answers to them. */

/** Versions and requests that a connection may begin with. */
export const openings = { version: 3, cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104 } as const;

/** Types of messages: the codes of their first characters. */
export const query = 0x51; // Q
export const sync = 0x53; // S
export const terminate = 0x58; // X
const readyForQuery = 0x5a; // Z
const commandComplete = 0x43; // C
const errorResponse = 0x45; // E

/** A message: its type and its fields, each a number of the given bytes, or a text that a zero byte ends. */
function message(
  type: string,
  ...fields: readonly (string | { readonly value: number; readonly bytes: number })[]
) {
  const body = Buffer.concat(
    fields.map((field) => {
      if (typeof field === "string") return Buffer.from(`${field}\0`);
      const bytes = Buffer.alloc(field.bytes);
      bytes.writeUIntBE(field.value, 0, field.bytes);
      return bytes;
    }),
  );
  const head = Buffer.alloc(5, type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const byte = (value: number) => ({ value, bytes: 1 });
const int16 = (value: number) => ({ value, bytes: 2 });
const int32 = (value: number) => ({ value, bytes: 4 });

/** Outside of a transaction. */
const idleStatus = 0x49; // I
const ready = message("Z", byte(idleStatus));

/** There is neither TLS nor GSSAPI here. */
export const refusal = Buffer.from("N");

/** What a connection needs to know before its first statement. */
export const greeting = Buffer.concat([
  message("R", int32(0)),
  message("S", "server_version", "15.0"),
  message("S", "server_encoding", "UTF8"),
  message("S", "client_encoding", "UTF8"),
  message("S", "standard_conforming_strings", "on"),
  message("S", "integer_datetimes", "on"),
  // Else libpq asks whether the server takes writes (PGTARGETSESSIONATTRS).
  message("S", "in_hot_standby", "off"),
  message("S", "default_transaction_read_only", "off"),
  message("K", int32(0), int32(0)),
  ready,
]);

/** The answer to two statements SET. */
export const bothSet = Buffer.concat([message("C", "SET"), message("C", "SET"), ready]);

/** No row of no column. */
export const nothing = Buffer.concat([message("T", int16(0)), message("C", "SELECT 0"), ready]);

/** An error that ends the connection. */
export const fatal = (text: string): Buffer =>
  message("E", "SFATAL", "VFATAL", "C08006", `M${text.replaceAll("\0", "")}`, byte(0));

/** A statement of the simple protocol after which another one follows in the same transaction. */
export const queryAfter = (setting: string, asked: Buffer): Buffer =>
  message("Q", `${setting}; ${asked.toString("utf8", 5, asked.length - 1)}`);

/** The same for the extended protocol: what follows it ends with a Sync. */
export const extendedBefore = (setting: string): Buffer =>
  Buffer.concat([
    message("P", "", setting, int16(0)),
    message("B", "", "", int16(0), int16(0), int16(0)),
    message("E", "", int32(0)),
  ]);

/** Takes the answer to a statement that sets something out of the stream of a server, before all others. */
export class SettingAnswer {
  /** Whether it has come: what comes then is the answer to what was asked for. */
  isComplete = false;
  /** The setting was refused: its caller must not get what follows. */
  hasFailed = false;
  private rest: Buffer | undefined;

  /** @returns what comes after it in the chunk */
  read(chunk: Buffer): Buffer {
    const input = this.rest ? Buffer.concat([this.rest, chunk]) : chunk;
    let at = 0;
    while (!this.isComplete && input.length - at >= 5) {
      const next = at + 1 + input.readUInt32BE(at + 1);
      if (input.length < next) break;
      const type = input[at];
      if (type === errorResponse) this.hasFailed = true;
      if (type === commandComplete || type === errorResponse) this.isComplete = true;
      at = next;
    }
    this.rest = this.isComplete ? undefined : input.subarray(at);
    return this.isComplete ? input.subarray(at) : Buffer.alloc(0);
  }
}

/** Counts in the stream of a server what it has answered completely. */
export class Answers {
  /** Whether the server is outside of a transaction since the last complete answer. */
  isIdle = true;
  private type = 0;
  /** Bytes of the current message that are still to come. */
  private left = 0;
  /** The beginning of a header that a chunk has cut. */
  private readonly head = Buffer.alloc(5);
  private headLength = 0;

  /** @returns how many statements are answered with this chunk */
  read(chunk: Buffer): number {
    let answered = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.left === 0) {
        const whole = this.headLength === 0 && chunk.length - at >= 5;
        if (whole) {
          this.begin(chunk, at);
          at += 5;
        } else {
          const taken = chunk.copy(this.head, this.headLength, at, at + 5 - this.headLength);
          this.headLength += taken;
          at += taken;
          if (this.headLength < 5) break;
          this.headLength = 0;
          this.begin(this.head, 0);
        }
      }
      const taken = Math.min(this.left, chunk.length - at);
      at += taken;
      this.left -= taken;
      if (taken > 0 && this.left === 0 && this.type === readyForQuery) {
        answered++;
        this.isIdle = chunk[at - 1] === idleStatus;
      }
    }
    return answered;
  }

  private begin(bytes: Buffer, at: number): void {
    this.type = bytes[at]!;
    this.left = bytes.readUInt32BE(at + 1) - 4;
  }
}
