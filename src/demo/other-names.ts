import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readCatalogue } from "./gettext-catalogue.js";

/** Names of towns in other languages, of GeoNames, as Debian's package libgeonames-common has them. */

/** What counts most comes first: a town of too many names keeps those. */
const languages =
  "en de fr es it pt nl pl cs sk hu ro sv fi da nb hr ru uk sr bg el tr ar he fa hi ur th zh zh_CN zh_TW ja ko".split(
    " ",
  );
/** Characters of a town's names; nearly all have fewer. */
const most = 500;

/** Names in the order of the languages, by GeoNames' number of the town. */
export type OtherNames = ReadonlyMap<number, ReadonlySet<string>>;

/**
 * What is there of them: none without the package.
 * @param folder where the system has its translations
 * @param unreadable is told of files that cannot be read; their names are left out
 */
export function readOtherNames(
  unreadable: (path: string, error: unknown) => void,
  folder = "/usr/share/locale",
): OtherNames {
  const names = new Map<number, Set<string>>();
  for (const language of languages) {
    const path = join(folder, language, "LC_MESSAGES", "geonames.mo");
    if (!existsSync(path)) continue;
    try {
      for (const [text, name] of readCatalogue(readFileSync(path))) {
        const id = Number(text);
        // Names of countries and regions have no numbers.
        if (Number.isNaN(id)) continue;
        const known = names.get(id);
        if (known) known.add(name);
        else names.set(id, new Set([name]));
      }
    } catch (error) {
      unreadable(path, error);
    }
  }
  return names;
}

/** The names but the one that is known, as one text; null when there is none. */
export function listed(names: Iterable<string>, known: string): string | null {
  let text = "";
  for (const name of new Set(names)) {
    if (name === known) continue;
    const longer = text === "" ? name : `${text}; ${name}`;
    if (longer.length > most) break;
    text = longer;
  }
  return text === "" ? null : text;
}
