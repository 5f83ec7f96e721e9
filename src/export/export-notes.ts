/** Notes of an export: sentences on what its format cannot hold. */

/** Proxies often take no more than 4 kB for all headers of an answer. */
const headerCharacters = 2_000;

/**
 * Notes as the value of a header: a JSON array of strings, in ASCII. Notes that would make it too long are counted by its last
 * string.
 */
export function notesHeader(notes: readonly string[]): string {
  const shown: string[] = [];
  for (const note of notes) {
    if (asciiJson([...shown, note, moreNotes(notes.length)]).length > headerCharacters) break;
    shown.push(note);
  }
  const left = notes.length - shown.length;
  return asciiJson(left > 0 ? [...shown, moreNotes(left)] : shown);
}

const moreNotes = (count: number): string => `${count} more: README.txt in the zip archive (zip=1) has all.`;

const asciiJson = (value: readonly string[]): string =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Text of the file README.txt of an archive. */
export const notesReadme = (title: string, notes: readonly string[]): string =>
  `${title}\n\n${notes.map((note) => `- ${note}\n`).join("")}`;

const maxColumnsNamed = 50;

/** Column names for a note: "a, b and 3 more". */
export function columnList(names: readonly string[]): string {
  const shown = names.slice(0, maxColumnsNamed).join(", ");
  return names.length > maxColumnsNamed ? `${shown} and ${names.length - maxColumnsNamed} more` : shown;
}
