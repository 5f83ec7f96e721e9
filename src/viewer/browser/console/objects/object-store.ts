import { isServerError, ServerError } from "../../server-error.js";
import type { EditOptions, Operations } from "../operations.js";
import type { Sent } from "./drafts.js";
import type { Done } from "./edit-stack.js";
import type { Fields, Loaded } from "./merge.js";

/**
 * Objects of a layer at the server, as they are edited: with the values of all languages, and their versions. All throw ServerError.
 * Does not depend on the DOM.
 */

interface Answered {
  readonly id: number;
  readonly fields: Fields;
  readonly geom?: GeoJSON.Geometry | null;
}
interface HistoryAnswer {
  readonly entries: readonly { readonly id: number; readonly by: string | null }[];
}
/** What a constraint allows. */
export interface Constraint {
  readonly type: "enum" | "range" | "pattern";
  readonly columns: readonly string[];
  readonly definition: readonly unknown[];
}

/** Whether the server will answer the same again. */
export const isFinal = (error: unknown): boolean =>
  isServerError(error) && ![0, 401, 429, 502, 503, 504].includes(error.status);

/** Who changes something all the time is let win. */
const mostTries = 5;

/** A column, as far as what is asked for depends on it. */
interface StoredColumn {
  readonly code: string;
  readonly type: string;
  readonly localized_value: boolean;
}

export class ObjectStore {
  private readonly localized: readonly StoredColumn[];

  constructor(
    private readonly edits: Operations,
    private readonly mapId: { readonly project: string; readonly map: string },
    private readonly layer: string,
    /** Of the project, the main one first. */
    private readonly languages: readonly string[],
    columns: readonly StoredColumn[],
  ) {
    this.localized = columns.filter((column) => column.localized_value && column.type !== "file");
  }

  /** Undefined when there is none any more. */
  async read(id: number): Promise<Loaded | undefined> {
    for (let tries = 1; ; tries++) {
      const answers = await Promise.all(
        this.asked.map((lng) => this.one("GET", ["objects", String(id)], { returnGeom: 1, lng })),
      );
      const [main, ...others] = answers;
      // Of an object that is not there the server answers the id alone.
      if (!main || main.value.geom === undefined) return undefined;
      // Else somebody has changed it between the questions, and it would be in no language as it is.
      if (others.every(({ etag }) => etag === main.etag)) return this.joined(main, others);
      if (tries >= mostTries) throw new ServerError(503, undefined);
    }
  }

  /** One question for each language in which values are. */
  private get asked(): readonly (string | undefined)[] {
    return this.localized.length > 0 && this.languages.length > 0 ? this.languages : [undefined];
  }

  private joined(main: Tagged, others: readonly Tagged[]): Loaded {
    const { id, geom } = main.value;
    const fields: Record<string, unknown> = { ...main.value.fields };
    const answers = [main, ...others];
    for (const { code } of this.localized) {
      const texts = this.languages.map((language, at) => [language, answers[at]?.value.fields[code] ?? null]);
      fields[code] = Object.fromEntries(texts.filter(([, text]) => text !== null && text !== ""));
    }
    return { id, fields, geom: geom ?? null, etag: main.etag };
  }

  /**
   * @param id undefined = a new object @returns it as it was then; values in other languages that are not known are not there
   * @throws ServerError 412 when it was made of something that is not there any more
   */
  async save(id: number | undefined, { key, change: { fields, geom }, match }: Sent): Promise<Loaded> {
    const body = { fields, ...(geom !== undefined && { geom }) };
    const query = { returnGeom: 1, lng: this.languages[0] };
    const saved =
      id === undefined
        ? await this.one("POST", ["objects"], query, { body, key })
        : await this.one("PUT", ["objects", String(id)], query, { body, key, match });
    if (this.localized.length === 0) return this.joined(saved, []);
    // It is saved: what it is in other languages may be asked later.
    const now = await this.read(saved.value.id).catch(() => undefined);
    // What others have made of it since nobody has seen.
    return now && now.etag === saved.etag ? now : this.asSent(saved, fields);
  }

  /** An object that was saved, of which other languages than the main one are not known: without values that were not sent. */
  private asSent({ value: { id, fields, geom }, etag }: Tagged, sent: Fields): Loaded {
    const isLocalized = (code: string) => this.localized.some((column) => column.code === code);
    const known = Object.entries(fields).filter(([code]) => !isLocalized(code));
    const own = Object.entries(sent).filter(([code]) => isLocalized(code));
    return { id, fields: Object.fromEntries([...known, ...own]), geom: geom ?? null, etag };
  }

  async remove(ids: readonly number[], key: string): Promise<void> {
    const body = ids.map((id) => ({ op: "delete", id }));
    await this.send("POST", ["objects", "bulk"], { body, key });
  }

  /** The last thing that was done to objects, at once, by whoever asks: others may have changed them since. */
  async last(objects: readonly number[]): Promise<Done | undefined> {
    const query = { limit: 10 };
    const { entries } = await this.send<HistoryAnswer>("GET", ["objects", String(objects[0]), "history"], {
      query,
    });
    const own = this.edits.loginOf(this.mapId.project)?.toLowerCase();
    const entry = entries.find(({ by }) => by?.toLowerCase() === own);
    return entry && { entry: entry.id, objects };
  }

  /** Undoes something, and tells what has done that. */
  async reverse({ entry, objects }: Done, key: string): Promise<Done> {
    const body = { group: objects.length > 1 ? 1 : 0 };
    await this.send("POST", ["history", String(entry), "undo"], { body, key });
    return (await this.last(objects)) ?? { entry, objects };
  }

  /** @returns the object and the new ones @throws ServerError 412 when it is of another version */
  async split(
    id: number,
    line: GeoJSON.Geometry,
    once: { readonly match: string | undefined; readonly key: string },
  ): Promise<readonly number[]> {
    const options = { body: { line }, ...once };
    const { ids } = await this.send<{ readonly ids: readonly number[] }>(
      "POST",
      ["objects", String(id), "split"],
      options,
    );
    return ids;
  }

  /** The first one stays. */
  async merge(ids: readonly number[], key: string): Promise<void> {
    await this.send("POST", ["objects", "merge"], { body: { ids }, key });
  }

  /** Gives a column of objects a value, of all or of none. */
  async change(ids: readonly number[], fields: Fields, key: string): Promise<void> {
    const body = ids.map((id) => ({ op: "update", id, fields }));
    await this.send("POST", ["objects", "bulk"], { query: { lng: this.languages[0] }, body, key });
  }

  async attach(id: number, column: string, file: File, key: string): Promise<void> {
    const form = new FormData();
    form.append("field", column);
    form.append("file", file, file.name);
    await this.send("POST", ["objects", String(id), "files"], { form, key });
  }

  async detach(id: number, column: string, file: number): Promise<void> {
    const query = { field: column };
    await this.send("DELETE", ["objects", String(id), "files", String(file)], { query });
  }

  /** Nothing for those who may not know them. */
  constraints(): Promise<readonly Constraint[]> {
    return this.send<readonly Constraint[]>("GET", ["constraints"], { isQuiet: true }).catch(() => []);
  }

  /** The geometry of some object, made rough; undefined = none has one. */
  async anyGeometry(): Promise<GeoJSON.Geometry | undefined> {
    const query = { fields: "svc_id", limit: 1, returnGeom: 1, geomZoom: 1, filter: '"geom" is not null' };
    const [found] = await this.send<readonly Answered[]>("GET", ["objects"], { query });
    return found?.geom ?? undefined;
  }

  private one(
    method: string,
    segments: readonly string[],
    query: EditOptions["query"],
    options: EditOptions = {},
  ): Promise<Tagged> {
    return this.edits.ask<Answered>(this.mapId.project, method, this.path(segments), {
      ...options,
      ...(query && { query }),
    });
  }

  private send<T>(method: string, segments: readonly string[], options: EditOptions) {
    return this.edits.send<T>(this.mapId.project, method, this.path(segments), options);
  }

  private path(segments: readonly string[]): readonly string[] {
    return [this.mapId.map, "layers", this.layer, ...segments];
  }
}

interface Tagged {
  readonly value: Answered;
  readonly etag: string | undefined;
}
