import { isLanguage } from "./address.js";

/** In which language the user reads the data of a project: its labels, names and attributes. */

const storageKey = "mapwright.dataLanguages";
/** Of the projects for which one was chosen, the last ones are remembered. */
const mostRemembered = 200;

export class DataLanguages {
  private readonly remembered: Map<string, string>;
  /** From links; these are not remembered. */
  private readonly followed = new Map<string, string>();

  constructor() {
    let stored: unknown;
    try {
      stored = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    } catch {
      // Storage is disabled, or what is stored is not ours.
    }
    const pairs = Array.isArray(stored) ? stored : [];
    this.remembered = new Map(
      pairs.filter((pair): pair is [string, string] => typeof pair?.[0] === "string" && isLanguage(pair[1])),
    );
  }

  /** The language that was chosen for a project; undefined = that of the interface. */
  of(project: string): string | undefined {
    return this.followed.get(project) ?? this.remembered.get(project);
  }

  /** Uses the language of a link, if it has one, while the page is open. Returns whether it is another than before. */
  follow(project: string, language: string | undefined): boolean {
    if (language === undefined || language === this.of(project)) return false;
    this.followed.delete(project);
    this.followed.set(project, language);
    return true;
  }

  /** Chooses a language and remembers it; undefined = that of the interface. */
  choose(project: string, language: string | undefined): void {
    this.followed.delete(project);
    this.remembered.delete(project);
    if (language !== undefined) this.remembered.set(project, language);
    try {
      localStorage.setItem(storageKey, JSON.stringify([...this.remembered].slice(-mostRemembered)));
    } catch {
      // Without storage it is forgotten with the page.
    }
  }
}

/** The language in which data is asked for: what was chosen, if the project has it; undefined = its main language. */
export function languageRead(
  languages: readonly string[],
  chosen: string | undefined,
  ofInterface: string,
): string | undefined {
  const language = chosen !== undefined && languages.includes(chosen) ? chosen : ofInterface;
  return languages.indexOf(language) > 0 ? language : undefined;
}
