import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LoadDependencies } from "./features.js";
import { readCatalogue } from "./gettext-catalogue.js";

/** Names of towns in other languages, of GeoNames, as Debian's package libgeonames-common has them. */

/** What counts most comes first: a town of too many names keeps those. */
const languages =
  "en de fr es it pt nl pl cs sk hu ro sv fi da nb hr ru uk sr bg el tr ar he fa lt lv et ca be ka hy id hi ur th zh zh_CN zh_TW ja ko".split(
    " ",
  );
/** Characters of a town's names; nearly all have fewer. */
const most = 500;

/** Names by language, in the order of the languages, by GeoNames' number of the town. */
export type OtherNames = ReadonlyMap<number, ReadonlyMap<string, string>>;

/** Where the system has its translations. */
const systemFolder = "/usr/share/locale";

const catalogueOf = (folder: string, language: string): string =>
  join(folder, language, "LC_MESSAGES", "geonames.mo");

/** Whether the package is there. */
export const hasOtherNames = (folder = systemFolder): boolean =>
  languages.some((language) => existsSync(catalogueOf(folder, language)));

/**
 * What is there of them: none without the package.
 * @param unreadable is told of files that cannot be read; their names are left out
 */
export function readOtherNames(
  unreadable: (path: string, error: unknown) => void,
  folder = systemFolder,
): OtherNames {
  const names = new Map<number, Map<string, string>>();
  for (const language of languages) {
    const path = catalogueOf(folder, language);
    if (!existsSync(path)) continue;
    try {
      for (const [text, name] of readCatalogue(readFileSync(path))) {
        const id = Number(text);
        // Names of countries and regions have no numbers.
        if (Number.isNaN(id)) continue;
        const known = names.get(id);
        if (known) known.set(language, name);
        else names.set(id, new Map([[language, name]]));
      }
    } catch (error) {
      unreadable(path, error);
    }
  }
  return names;
}

/** What the system has, or what the caller gives. */
export const otherNamesFor = ({
  log,
  translations,
}: Pick<LoadDependencies, "log" | "translations">): OtherNames =>
  readOtherNames(
    (path, error) => log.warn({ err: error, path }, "names of towns in a language could not be read"),
    translations,
  );

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
