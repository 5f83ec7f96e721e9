import { attention } from "./attention.js";
import { type DataLanguages, languageRead } from "./data-languages.js";
import { takeEarly } from "./early-answers.js";
import type { StartView } from "./first-view.js";
import type { Box, TreeElement } from "./layer-tree.js";
import { layersQuery, mapsAddress, path, type Query, withQuery } from "./paths.js";
import type { Pictures } from "./pictures.js";
import { saveBytes, saveFile } from "./save-file.js";
import { failureOf, isServerError, ServerError } from "./server-error.js";
import type { Sessions } from "./sessions.js";
import { type TileSource, type TilesShown, tileSource } from "./tile-source.js";

/** Client of the map server. URLs are relative to the page, so that they work with a path prefix. */

export interface ProjectInfo {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly base: "builtin" | "none" | "tiles";
  /** Whether the built-in one writes names. */
  readonly baseHasNames?: boolean;
  readonly baseAttribution?: string;
  /** What the user of the session may do, in bits: see `rights`. */
  readonly access?: number;
  readonly maps: readonly MapInfo[];
}
export interface MapInfo {
  readonly code: string;
  readonly name: string;
  readonly attribution?: string;
  /** Of its base map, where it has another one than its project. */
  readonly base?: ProjectInfo["base"];
  readonly baseHasNames?: boolean;
  /** Its background colour covers the base map. */
  readonly hasBackground?: boolean;
  /** Only visible to signed-in users. */
  readonly isPrivate?: boolean;
  /** What is seen at first; absent = all of its data. */
  readonly startView?: StartView;
  /** Plain text; absent = none. */
  readonly description?: string;
  /** As that of the project. */
  readonly access?: number;
}
/** Bits of `access`. */
export const rights = { structure: 4, administer: 8 } as const;

export interface ColumnInfo {
  readonly id: number;
  readonly parent_id: number;
  readonly code: string;
  readonly name: string;
  readonly type: string;
  readonly sort: number;
  readonly localized_value: boolean;
  /** Whether objects must have a value in it. */
  readonly required?: boolean;
  /** How its values are shown, if there is more to it than the type. */
  readonly format?: Readonly<Record<string, unknown>> | null;
}
export interface ObjectItem {
  readonly id: number;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly geom?: GeoJSON.Geometry | null;
}

export interface LegendClass {
  /** A number or a text; null = all other objects. */
  readonly value: unknown;
  /** Whether it is of objects without a value. */
  readonly isNoData?: boolean;
  /** What becomes of charts without room, if it is of those. */
  readonly noRoom?: "dot" | "smaller";
  /** In words; null or absent = those of the viewer. */
  readonly text?: string | null;
  readonly fill: string;
  readonly isIcon: boolean;
  /** Width of a bubble or a chart on the map, in pixels. */
  readonly size?: number;
  /** Colour of its rim; absent = it has none. */
  readonly rim?: string;
  /** Whether the size is that of a square. */
  readonly isSquare?: boolean;
  readonly minZoom?: number | null;
  readonly maxZoom?: number | null;
}
export interface Legend {
  /** Goes above it. */
  readonly title?: string;
  /** What the sizes of charts tell; null = the sum of their values. Absent: they tell nothing, or the title says it. */
  readonly sizeTitle?: string | null;
  readonly column: string | null;
  readonly showLegend: boolean;
  readonly minValue: number | null;
  readonly maxValue: number | null;
  readonly classificators: readonly LegendClass[];
  /** How many classes are left out. */
  readonly more?: number;
}

/** Where legends come from. */
export interface LegendSource {
  /** Undefined: the layer has none. @throws when it can not be loaded */
  legend(layer: string): Promise<Legend | undefined>;
  /**
   * The address of a symbol: of a class, or of the layer.
   * @param pixels a side, before those of the display
   * @throws when it can not be loaded
   */
  symbol(layer: string, pixels: number, number?: number): Promise<string>;
}

/** An object with its layer. */
export interface FoundItem extends ObjectItem {
  readonly layer: string;
  readonly layer_id: number;
  /** What it is drawn with, as one circle. */
  readonly cluster?: { readonly count: number; readonly bbox: Box };
}

/** An object that a search has found. */
export interface FoundName {
  readonly type: "object";
  readonly svc_id: number;
  readonly name: string;
  readonly value: string;
  readonly detail?: string;
  readonly layer: string;
  readonly layer_name: string;
}

/** A file of an object. */
export interface AttachedFile {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly mime: string;
  /** Bytes. */
  readonly size: number;
}

export { failureOf, isServerError, ServerError };

/** In steps, so that pages of many sizes share what the server keeps. */
const stepPixels = 80;
/** The pixels of the display that are asked for. @param pixels those of the page */
const sideAsked = (pixels: number): number =>
  stepPixels * Math.ceil((pixels * Math.min(2, Math.max(1, window.devicePixelRatio))) / stepPixels);

/** Options of a request. */
type Asked = Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

/** Codes of a project and a map. */
export interface MapId {
  readonly project: string;
  readonly map: string;
}

/** Fills empty values of objects with those of other objects with the same id. */
function withFallback(objects: readonly ObjectItem[], others: readonly ObjectItem[]): ObjectItem[] {
  const fields = new Map(others.map((other) => [other.id, other.fields ?? {}]));
  return objects.map((object) => {
    const own = Object.entries(object.fields ?? {}).filter(([, value]) => value !== null && value !== "");
    return { ...object, fields: { ...object.fields, ...fields.get(object.id), ...Object.fromEntries(own) } };
  });
}

export class MapServer {
  /** Whether tiles have twice the pixels. */
  hasSharpTiles: boolean = L.Browser.retina;
  private readonly languagesOf = new Map<string, readonly string[]>();
  /** States of maps, by their addresses. */
  private readonly states = new Map<string, string>();
  /** Undefined elements: they could not be loaded. */
  private expected:
    | (MapId & { readonly language: string; readonly elements: Promise<TreeElement[] | undefined> })
    | undefined;

  constructor(
    /** Of the interface. */
    private readonly language: string,
    private readonly sessions: Sessions,
    private readonly dataLanguages: DataLanguages,
    /** Of the sessions that it opens. */
    private readonly origin: "api" | "console" = "api",
  ) {}

  /**
   * The project of that code with the maps that its user, or the public, may see; nothing when there are none. Removes a session
   * that has ended. Names are in the language of the project's data.
   * @param project default: the first with public maps, else one with a session
   */
  async projects(project?: string): Promise<ProjectInfo[]> {
    const first = project === undefined ? await this.asPublic(undefined) : undefined;
    const code = project ?? first?.[0]?.code ?? this.sessions.projects()[0];
    const own = code !== undefined && this.sessions.of(code) ? await this.asUser(code) : [];
    const found = own.length > 0 ? own : (first ?? (await this.asPublic(code)));
    for (const { code, languages } of found) this.languagesOf.set(code, languages);
    return found;
  }

  private async asPublic(project: string | undefined): Promise<ProjectInfo[]> {
    const asked = (project !== undefined && this.dataLanguages.of(project)) || this.language;
    const found = await this.send<ProjectInfo[]>(mapsAddress({ lng: asked, project }));
    const [first] = found;
    const chosen = first && this.dataLanguages.of(first.code);
    const lng = chosen !== undefined && first?.languages.includes(chosen) ? chosen : this.language;
    return first === undefined || lng === asked
      ? found
      : this.send<ProjectInfo[]>(mapsAddress({ lng, project: first.code }));
  }

  private async asUser(project: string): Promise<ProjectInfo[]> {
    const token = this.sessions.of(project)?.token;
    const headers = { authorization: `Bearer ${token}` };
    const lng = this.dataLanguages.of(project) ?? this.language;
    try {
      return await this.send(mapsAddress({ lng, project }), { headers });
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.status === 401 || error.status === 403) this.sessions.remove(project, token);
      // The viewer shows what the public sees; in the console that would look as if nothing might be edited.
      else if (this.origin === "console") throw error;
      return [];
    }
  }

  /** Asks for the layers of a map that will be opened, before it is known whether there is one. */
  expect(mapId: MapId): void {
    const language = this.dataLanguages.of(mapId.project) ?? this.language;
    const elements = this.askForLayers(mapId, language).catch(() => undefined);
    this.expected = { ...mapId, language, elements };
  }

  async layers(mapId: MapId): Promise<TreeElement[]> {
    const { expected } = this;
    this.expected = undefined;
    const { project, map } = mapId;
    if (expected?.project === project && expected.map === map && this.isRead(expected)) {
      const elements = await expected.elements;
      if (elements) return elements;
    }
    return this.askForLayers(mapId, this.lng(mapId.project));
  }

  /** All layers and folders, also those that are not published. */
  allLayers(mapId: MapId): Promise<TreeElement[]> {
    return this.tree(mapId, { ...layersQuery(this.lng(mapId.project)), type: "full" });
  }

  private askForLayers(mapId: MapId, lng: string | undefined): Promise<TreeElement[]> {
    return this.tree(mapId, layersQuery(lng));
  }

  private async tree({ project, map }: MapId, query: Query): Promise<TreeElement[]> {
    const answer = await this.respond(
      this.operation(project, [map, "layers"], query),
      this.credentials(project),
    );
    const state = answer.headers.get("x-map-state");
    const key = path(project, map);
    // What is shown may be of the first one.
    if (state !== null && !this.states.has(key)) this.states.set(key, state);
    return answer.json();
  }

  /** The state of a map since whose layers were asked for first, as the server names it. */
  stateOf({ project, map }: MapId): string | undefined {
    return this.states.get(path(project, map));
  }

  /** All that is shown of a map is asked for anew. */
  forgetState({ project, map }: MapId): void {
    this.states.delete(path(project, map));
  }

  /** Legends of a map's layers. What it keeps for its symbols is let go with `symbols.clear()`. */
  legends({ project, map }: MapId, symbols: Pictures): LegendSource {
    const segments = (layer: string, what: string) => [map, "layers", layer, what];
    return {
      legend: (layer) =>
        this.get<Legend>(project, segments(layer, "legend"), { extended: 1 }).catch((error: unknown) => {
          if (error instanceof ServerError && error.status === 404) return undefined;
          throw error;
        }),
      symbol: (layer, pixels, number) => {
        const size = Math.ceil(pixels * Math.min(3, Math.max(1, window.devicePixelRatio)));
        const query = { class: number, size, lng: this.lng(project) };
        const url = withQuery(`api/2.8/${path(project, ...segments(layer, "icon"))}`, query);
        return symbols.address(url, this.sessions.of(project)?.token);
      },
    };
  }

  /** The files of an object. @param pictures keeps those of private maps */
  attachments({ project, map }: MapId, layer: string, object: number, pictures: Pictures) {
    const files = [map, "layers", layer, "objects", String(object), "files"];
    return {
      files: () => this.get<AttachedFile[]>(project, files),
      picture: ({ uuid }: AttachedFile, width: number, height: number) => {
        const [w, h] = [sideAsked(width), sideAsked(height)];
        const address = withQuery(`api/2.8/${path(project, "image", uuid)}`, { w, h, fit: "inside" });
        return pictures.address(address, this.sessions.of(project)?.token);
      },
      download: async ({ uuid, name }: AttachedFile) => {
        const address = this.publicAddress(project, [...files, uuid], {});
        if (address !== undefined) {
          saveFile(address, name);
          return;
        }
        const { signal } = new AbortController();
        const answer = await this.answer(project, [...files, uuid], {}, { method: "GET", signal });
        saveBytes(await answer.blob(), name);
      },
    };
  }

  structure(mapId: MapId, layer: string): Promise<ColumnInfo[]> {
    return this.get(mapId.project, [mapId.map, "layers", layer, "structure"]);
  }

  /** The objects that the map shows at a place, from its topmost layer on. */
  identify(mapId: MapId, query: Query, signal: AbortSignal): Promise<FoundItem[]> {
    return this.get(mapId.project, [mapId.map, "identify"], query, signal);
  }

  /** Layers and objects whose texts have the phrase, the best first. */
  async search(
    { project, map }: MapId,
    phrase: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{
    readonly found: readonly (FoundName | { readonly type: "layer" })[];
    readonly isCut: boolean;
  }> {
    const query = { phrase, lang: this.readIn(project), limit };
    const answer = await this.answer(project, [map, "search"], query, { method: "GET", signal });
    return { found: await answer.json(), isCut: answer.headers.has("x-search-incomplete") };
  }

  /** The object with that id; undefined when there is none. */
  async object(
    mapId: MapId,
    from: { readonly layer: string; readonly columns: readonly ColumnInfo[] },
    id: number,
    signal: AbortSignal,
  ): Promise<ObjectItem | undefined> {
    // The geometry at a zoom is close enough for its outline.
    const query = { fields: "*", after: id - 1, limit: 1, returnGeom: 1, geomZoom: 17 };
    const [found] = await this.objects(mapId, from, query, signal);
    return found?.id === id ? found : undefined;
  }

  /** Objects of a layer. Values without a translation are in the project's main language, as in labels on the map. */
  async objects(
    mapId: MapId,
    { layer, columns }: { readonly layer: string; readonly columns: readonly ColumnInfo[] },
    query: Query,
    signal: AbortSignal,
  ): Promise<ObjectItem[]> {
    const segments = [mapId.map, "layers", layer, "objects"];
    const request = (more: Query) =>
      this.get<ObjectItem[]>(mapId.project, segments, { ...query, ...more }, signal);
    const translated = this.lng(mapId.project) ? columns.filter((column) => column.localized_value) : [];
    if (translated.length === 0) return request({});
    const fields = translated.map(({ code }) => code).join(",");
    const [objects, main] = await Promise.all([
      request({}),
      request({ fields, returnGeom: 0, lng: undefined }),
    ]);
    return withFallback(objects, main);
  }

  /** Opens a session. @throws ServerError 403 for an unknown login or a wrong password */
  async signIn(project: string, login: string, password: string): Promise<void> {
    const { token } = await this.send<{ token: string }>(`api/2.8/${path(project, "login")}`, {
      method: "POST",
      body: new URLSearchParams({ user: login, pass: password, origin: this.origin }),
    });
    this.sessions.put(project, { login, token });
  }

  /**
   * Whom an invitation is for. With a password it is that user's from then on.
   * @returns the login @throws ServerError 403 when it does not count
   */
  async invited(project: string, invitation: string, password?: string): Promise<string> {
    const { login } = await this.send<{ login: string }>(`api/2.8/${path(project, "invitation")}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ invitation, password }),
    });
    return login;
  }

  async signOut(project: string): Promise<void> {
    const session = this.sessions.of(project);
    this.sessions.remove(project);
    if (!session) return;
    await this.send(`api/2.8/${path(project, "logout")}`, {
      method: "POST",
      body: new URLSearchParams({ token: session.token }),
    }).catch(() => undefined); // the token is removed here in any case, and expires when idle
  }

  /** Whether the session is still valid; removes it if not. */
  async checkSession(project: string): Promise<boolean> {
    const token = this.sessions.of(project)?.token;
    if (token === undefined) return false;
    // `authorized/` knows nothing of sessions of the console.
    const isValid = await this.get<unknown>(project, ["maps", "available"]).then(
      () => true,
      // A network error does not end the session.
      (error: unknown) => !(error instanceof ServerError && (error.status === 401 || error.status === 403)),
    );
    if (!isValid) this.sessions.remove(project, token);
    return isValid;
  }

  tiles(mapId: MapId, shows: TilesShown): TileSource {
    return tileSource(mapId, shows, {
      lng: this.lng(mapId.project),
      isSharp: this.hasSharpTiles,
      token: this.sessions.of(mapId.project)?.token,
    });
  }

  /** Where tiles are asked for with a style of the layer that is not saved. */
  previewPath({ project, map }: MapId, layer: string): string {
    return `api/2.8/${path(project, map, "layers", layer, "preview")}`;
  }

  /** The address of the events that tell what changes in a map. */
  changes(mapId: MapId): string {
    const token = this.sessions.of(mapId.project)?.token;
    return withQuery(`tms/${path(mapId.project, mapId.map)}changes/`, { token });
  }

  /** Whether values are asked for in another language than the project's main one. */
  isTranslated({ project }: MapId): boolean {
    return this.lng(project) !== undefined;
  }

  /** The address of an operation, without a token; undefined when it needs that of a session. */
  publicAddress(project: string, segments: readonly string[], query: Query): string | undefined {
    return this.sessions.of(project) ? undefined : this.operation(project, segments, query);
  }

  /** The answer of an operation; with POST the query is a form. @throws ServerError, AbortError */
  answer(
    project: string,
    segments: readonly string[],
    query: Query,
    { method, signal }: { readonly method: "GET" | "POST"; readonly signal: AbortSignal },
  ): Promise<Response> {
    const credentials = this.credentials(project);
    const address = this.operation(project, segments, query);
    const [path = "", form] = address.split("?");
    return method === "GET"
      ? this.respond(address, { ...credentials, signal })
      : this.respond(path, { ...credentials, signal, method, body: new URLSearchParams(form) });
  }

  private operation(project: string, segments: readonly string[], query: Query): string {
    return withQuery(`api/2.8/${path(project, ...segments)}`, { lng: this.lng(project), ...query });
  }

  /** Whether names asked for in a language are those that are read. */
  private isRead({ project, language }: { readonly project: string; readonly language: string }): boolean {
    const languages = this.languagesOf.get(project);
    return !languages || this.lng(project) === (languages.indexOf(language) > 0 ? language : undefined);
  }

  /** The language of a project's data; undefined = its main language. */
  lng(project: string): string | undefined {
    const chosen = this.dataLanguages.of(project);
    const languages = this.languagesOf.get(project);
    // Of a project that is not listed the languages are not known.
    if (!languages) return chosen;
    return languageRead(languages, chosen, this.language);
  }

  /** The language in which a project's data is read, whether it has it or not. */
  readIn(project: string): string {
    const chosen = this.dataLanguages.of(project);
    return chosen !== undefined && this.languagesOf.get(project)?.includes(chosen) !== false
      ? chosen
      : this.language;
  }

  private get<T>(
    project: string,
    segments: readonly string[],
    query: Query = {},
    signal?: AbortSignal,
  ): Promise<T> {
    return this.send(this.operation(project, segments, query), {
      ...this.credentials(project),
      ...(signal ? { signal } : {}),
    });
  }

  private credentials(project: string): Pick<Asked, "headers"> {
    const token = this.sessions.of(project)?.token;
    return token ? { headers: { authorization: `Bearer ${token}` } } : {};
  }

  private async send<T>(relative: string, init: Asked = {}): Promise<T> {
    return (await (await this.respond(relative, init)).json()) as T;
  }

  private async respond(relative: string, init: Asked): Promise<Response> {
    let reply: Response;
    try {
      const early = Object.keys(init).length === 0 ? await takeEarly(relative) : undefined;
      const headers = { ...init.headers, ...attention() };
      reply =
        early ??
        (await fetch(relative, { credentials: "omit", referrerPolicy: "no-referrer", ...init, headers }));
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError(0, undefined);
    }
    if (reply.ok) return reply;
    const text = await reply.text().catch(() => "");
    throw failureOf(reply.status, text, reply.headers.get("retry-after"));
  }
}
