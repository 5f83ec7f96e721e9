import { createHash } from "node:crypto";
import type { Queryable } from "../storage/postgres.js";
import { type FoundProject, findMaps, shownProject } from "./maps.js";

/** The list of public maps as an answer. */
export interface MapList {
  /** JSON. */
  readonly body: Buffer;
  /** Strong, with quotes. */
  readonly etag: string;
}

/** A reading of all public maps. */
interface Reading {
  /** What had changed when it began. */
  readonly changes: number;
  readonly list: Promise<PublicList>;
}

/**
 * The public maps of all projects, kept by a node as a whole until something in the catalogue changes: a reading for
 * each change, whoever asks and however often. A project without such maps is not in it.
 */
export class PublicMaps {
  private changes = 0;
  private latest: Reading | undefined;
  private next: Promise<PublicList> | undefined;

  /** @param trusted whether `catalogueChanged` is called now; while it is not, the maps are read for every request */
  constructor(
    private readonly db: Queryable,
    private readonly trusted: () => boolean,
  ) {}

  /** Some project or map changed. */
  catalogueChanged(): void {
    this.changes++;
  }

  /** The list with names in the language where they have it, as it is after this call. */
  async list(language: string): Promise<MapList> {
    return (await this.current()).in(language);
  }

  private current(): Promise<PublicList> {
    const { latest } = this;
    if (latest?.changes === this.changes && this.trusted()) return latest.list;
    // One reading runs at a time. Whoever comes meanwhile shares the next one, which begins after all of them came.
    this.next ??= Promise.resolve(latest?.list).then(
      () => this.read(),
      () => this.read(),
    );
    return this.next;
  }

  private read(): Promise<PublicList> {
    this.next = undefined;
    const list = findMaps(this.db).then((projects) => new PublicList(projects));
    const reading = { changes: this.changes, list };
    this.latest = reading;
    list.catch(() => {
      if (this.latest === reading) this.latest = undefined;
    });
    return list;
  }
}

/** Languages may be many, and lists long. */
const keptLanguages = 20;

class PublicList {
  private readonly projects: readonly FoundProject[];
  private readonly languages: ReadonlySet<string>;
  private readonly lists = new Map<string, MapList>();

  constructor(projects: readonly FoundProject[]) {
    this.projects = projects.filter(({ maps }) => maps.length > 0);
    this.languages = new Set(
      this.projects.flatMap(({ maps }) => maps.flatMap(({ names }) => Object.keys(names))),
    );
  }

  in(asked: string): MapList {
    // All languages that no name is in make the same list.
    const language = this.languages.has(asked) ? asked : "";
    const known = this.lists.get(language);
    if (known) return known;
    const body = Buffer.from(JSON.stringify(this.projects.map((project) => shownProject(project, language))));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    if (this.lists.size >= keptLanguages) this.lists.clear();
    this.lists.set(language, { body, etag });
    return { body, etag };
  }
}
