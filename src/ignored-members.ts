/**
 * Members of JSON bodies, fields of forms, and parameters of the query that the operation does not know. They do nothing, and the
 * answer names them in `X-Ignored`.
 */

/** What is known of a value; neither = anything may be in it. */
export interface Known {
  /** The members of an object. */
  readonly members?: ReadonlyMap<string, Known>;
  /** The items of an array. */
  readonly items?: Known;
}

const mostPaths = 20;
const longestName = 60;
const longestHeader = 990;
/** Full stops of names are encoded. */
const more = "...";

export class IgnoredMembers {
  /** Encoded. */
  private readonly found = new Set<string>();
  private isCut = false;

  /** Looks for members that are not known. Places in arrays are not told, so that each path is told once. */
  look(value: unknown, known: Known | undefined, above = ""): void {
    if (known === undefined || this.isCut || typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      if (known.items) for (const item of value) this.look(item, known.items, above);
      return;
    }
    if (!known.members) return;
    for (const name in value) {
      const below = known.members.get(name);
      if (below === undefined) this.add(above + encoded(name));
      else if (below.members ?? below.items)
        this.look((value as Record<string, unknown>)[name], below, `${above}${encoded(name)}.`);
    }
  }

  /** Looks for names of parameters that are not known. */
  lookAtNames(names: Iterable<string>, known: ReadonlySet<string>): void {
    for (const name of names) {
      if (this.isCut) return;
      if (!known.has(name)) this.add(encoded(name));
    }
  }

  private add(path: string): void {
    if (path !== more && this.found.size < mostPaths) this.found.add(path);
    else if (!this.found.has(path)) this.isCut = true;
  }

  /** Adds what was found in another thread. */
  addHeader(header: string | undefined): void {
    for (const path of header?.split(", ") ?? []) this.add(path);
  }

  /**
   * Paths with full stops between names, separated by commas, in printable ASCII: other characters of names are
   * percent-encoded UTF-8. What is cut off is `...`. Undefined = none.
   */
  get header(): string | undefined {
    if (this.found.size === 0) return undefined;
    let text = "";
    for (const path of this.found) {
      const longer = text === "" ? path : `${text}, ${path}`;
      if (longer.length > longestHeader) return `${text}, ${more}`;
      text = longer;
    }
    return this.isCut ? `${text}, ${more}` : text;
  }
}

function encoded(name: string): string {
  if (name === "") return '""';
  if (name.length <= longestName) return percentEncoded(name);
  // Not between the halves of a character.
  return percentEncoded(name.slice(0, longestName).replace(/[\uD800-\uDBFF]$/, "")) + more;
}

const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[.!~*'()]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
