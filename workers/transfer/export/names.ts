/** Names of columns in formats that restrict them. */

export interface NameRules {
  /** In characters; names are ASCII then. */
  readonly longest?: number;
  /** Names that the format uses itself, in lower case. */
  readonly taken: readonly string[];
}

/** Unique names, also when letters of both cases are the same, in the order of the columns. */
export function namesOf(columns: readonly string[], { longest, taken }: NameRules): string[] {
  const used = new Set(taken);
  return columns.map((column) => {
    const plain = longest === undefined ? column : column.replace(/[^A-Za-z0-9_]/g, "_");
    const most = longest ?? plain.length + 10;
    let name = plain.slice(0, most);
    for (let number = 2; used.has(name.toLowerCase()); number++) {
      const ending = `_${number}`;
      name = plain.slice(0, most - ending.length) + ending;
    }
    used.add(name.toLowerCase());
    return name;
  });
}
