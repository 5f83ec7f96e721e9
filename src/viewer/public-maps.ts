import { createHash } from "node:crypto";
import type { Queryable } from "../storage/postgres.js";
import { type FoundProject, findMaps, shownProject } from "./maps.js";

/** The list of a project's public maps as a response. */
export interface MapList {
  /** JSON. */
  readonly body: Buffer;
  /** Strong, with quotes. */
  readonly etag: string;
}

/** A query for all public maps. */
interface Reading {
  /** Value of the change counter when it began. */
  readonly changes: number;
  readonly list: Promise<PublicList>;
}

/**
 * Caches the public maps of the projects in a node until something in the catalogue changes. Concurrent calls share one
 * query. Projects without public maps are left out.
 */
export class PublicMaps {
  private changes = 0;
  private latest: Reading | undefined;
  private next: Promise<PublicList> | undefined;

  /** @param trusted whether changes are reported to `catalogueChanged` at present; if not, each call queries the database */
  constructor(
    private readonly db: Queryable,
    private readonly trusted: () => boolean,
  ) {}

  /** Must be called when a project or map has changed. */
  catalogueChanged(): void {
    this.changes++;
  }

  /**
   * The project with its public maps, with names in the language if available; not older than the call. Empty if it has none.
   * @param project its code; default: the first project that has any
   */
  async list(language: string, project?: string): Promise<MapList> {
    return (await this.current()).in(language, project);
  }

  private current(): Promise<PublicList> {
    const { latest } = this;
    if (latest?.changes === this.changes && this.trusted()) return latest.list;
    // One query runs at a time. Calls in the meantime share the next one, which begins after them.
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

/** Bounds the memory for lists by project and language. */
const maxLists = 200;

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

  in(requested: string, code?: string): MapList {
    const project = code === undefined ? this.projects[0] : this.projects.find((one) => one.code === code);
    // Languages without any translation have the same list.
    const language = this.languages.has(requested) ? requested : "";
    const key = `${project?.code} ${language}`;
    const known = this.lists.get(key);
    if (known) return known;
    const body = Buffer.from(JSON.stringify(project ? [shownProject(project, language)] : []));
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    if (this.lists.size >= maxLists) this.lists.clear();
    this.lists.set(key, { body, etag });
    return { body, etag };
  }
}
