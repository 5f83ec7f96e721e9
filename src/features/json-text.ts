/** JSON text that PostgreSQL makes: in parts where it may be long, so that no part of its way holds the event loop. */

/** A text; or, when it is long, UTF-8 in parts that have a character for each byte. */
export type JsonText = string | readonly string[];

const partBytes = 64 * 1024;

const lastPart = `(octet_length(b)-1)/${partBytes}`;

/**
 * SQL of a relation `parts` with the parts of a text, in their order, and at least one: each with its number `i` from 0, whether it is
 * the `last`, and in `o` a character for each byte. Slices of bytes cost the same wherever they are; those of a text are counted from its beginning.
 */
export const partsOf = (text: string): string =>
  `lateral (select convert_from(substring(b from i * ${partBytes} + 1 for ${partBytes}),'LATIN1') as o, i, i = ${lastPart} as last ` +
  `from (select convert_to(${text},'UTF8') as b offset 0) whole, generate_series(0,${lastPart}) i) parts`;

/** The text of rows with its parts. */
export const joinedParts = (rows: readonly { readonly o: string }[]): JsonText =>
  rows.length === 1 ? wholeText([rows[0]!.o]) : rows.map(({ o }) => o);

/** For what is not long, or must be parsed. */
export const wholeText = (json: JsonText): string =>
  typeof json === "string" ? json : Buffer.concat(json.map((part) => Buffer.from(part, "latin1"))).toString();
