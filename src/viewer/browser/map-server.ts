import type { TreeElement } from "./layer-tree.js";
import type { Sessions } from "./sessions.js";

/** The map server as the viewer calls it. Addresses are relative to the page, so a path prefix does not matter. */

export interface ProjectInfo {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly base: "builtin" | "none" | "tiles";
  readonly maps: readonly MapInfo[];
}
export interface MapInfo {
  readonly code: string;
  readonly name: string;
  readonly attribution?: string;
  /** Seen only by who has signed in. */
  readonly isPrivate?: boolean;
}

export interface ColumnInfo {
  readonly id: number;
  readonly parent_id: number;
  readonly code: string;
  readonly name: string;
  readonly type: string;
  readonly sort: number;
  readonly localized_value: boolean;
}
export interface ObjectItem {
  readonly id: number;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly geom?: GeoJSON.Geometry | null;
}

/** An answer that is no success; status 0 means that there was none. */
export class ServerError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | undefined,
  ) {
    super(`${status} ${code ?? ""}`.trim());
    this.name = "ServerError";
  }
}

export interface MapPlace {
  readonly project: string;
  readonly map: string;
}
type Query = Readonly<Record<string, string | number | undefined>>;

const path = (...segments: readonly string[]): string => `${segments.map(encodeURIComponent).join("/")}/`;

function address(place: string, query: Query): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) values.set(name, String(value));
  const text = values.toString().replaceAll("%2C", ",").replaceAll("*", "%2A");
  return text ? `${place}?${text}` : place;
}

/** Objects with the values of others of the same ids where they have none. */
function filledFrom(objects: readonly ObjectItem[], others: readonly ObjectItem[]): ObjectItem[] {
  const fields = new Map(others.map((other) => [other.id, other.fields ?? {}]));
  return objects.map((object) => {
    const own = Object.entries(object.fields ?? {}).filter(([, value]) => value !== null && value !== "");
    return { ...object, fields: { ...object.fields, ...fields.get(object.id), ...Object.fromEntries(own) } };
  });
}

export class MapServer {
  private readonly languagesOf = new Map<string, readonly string[]>();

  constructor(
    private readonly language: string,
    private readonly sessions: Sessions,
  ) {}

  /**
   * What there is to see: the projects with public maps, and those with a session as its user sees them, which may have
   * none that are public. A session that has ended is forgotten.
   */
  async projects(): Promise<ProjectInfo[]> {
    const found = new Map<string, ProjectInfo>();
    const listed = await this.send<ProjectInfo[]>(address("viewer/maps.json", { lng: this.language }));
    const own = await Promise.all(this.sessions.projects().map((code) => this.asUser(code)));
    for (const project of [...listed, ...own.flat()]) found.set(project.code, project);
    for (const { code, languages } of found.values()) this.languagesOf.set(code, languages);
    return [...found.values()];
  }

  private async asUser(project: string): Promise<ProjectInfo[]> {
    const headers = { authorization: `Bearer ${this.sessions.of(project)?.token}` };
    try {
      return await this.send(address("viewer/maps.json", { lng: this.language, project }), { headers });
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.status === 401 || error.status === 403) this.sessions.remove(project);
      return [];
    }
  }

  layers(place: MapPlace): Promise<TreeElement[]> {
    return this.get(place.project, [place.map, "layers"], { type: "publish", returnBbox: 1, returnCss: 1 });
  }

  structure(place: MapPlace, layer: string): Promise<ColumnInfo[]> {
    return this.get(place.project, [place.map, "layers", layer, "structure"]);
  }

  /** Objects of a layer. Values that the page's language lacks are the main one's, as in labels on the map. */
  async objects(
    place: MapPlace,
    { layer, columns }: { readonly layer: string; readonly columns: readonly ColumnInfo[] },
    query: Query,
    signal: AbortSignal,
  ): Promise<ObjectItem[]> {
    const segments = [place.map, "layers", layer, "objects"];
    const ask = (more: Query) =>
      this.get<ObjectItem[]>(place.project, segments, { ...query, ...more }, signal);
    const translated = this.lng(place.project) ? columns.filter((column) => column.localized_value) : [];
    if (translated.length === 0) return ask({});
    const fields = translated.map(({ code }) => code).join(",");
    const [objects, main] = await Promise.all([ask({}), ask({ fields, returnGeom: 0, lng: undefined })]);
    return filledFrom(objects, main);
  }

  /** Opens a session. @throws ServerError 403 for an unknown login or a wrong password */
  async signIn(project: string, login: string, password: string): Promise<void> {
    const { token } = await this.send<{ token: string }>(`api/2.8/${path(project, "login")}`, {
      method: "POST",
      body: new URLSearchParams({ user: login, pass: password }),
    });
    this.sessions.put(project, { login, token });
  }

  async signOut(project: string): Promise<void> {
    const session = this.sessions.of(project);
    this.sessions.remove(project);
    if (!session) return;
    await this.send(`api/2.8/${path(project, "logout")}`, {
      method: "POST",
      body: new URLSearchParams({ token: session.token }),
    }).catch(() => undefined); // the token is forgotten here either way, and idle ones end by themselves
  }

  /** Whether the session still lives; one that has ended is forgotten. */
  async checkSession(project: string): Promise<boolean> {
    if (!this.sessions.of(project)) return false;
    const alive = await this.get<boolean>(project, ["authorized"]).catch(
      // Only an answer can end a session; a lost connection cannot.
      (error: unknown) => !(error instanceof ServerError && error.status === 401),
    );
    if (!alive) this.sessions.remove(project);
    return alive;
  }

  /** Where the map's tiles are; who sees the same picture asks for the same addresses, so that caches are shared. */
  tiles(place: MapPlace, shows: { readonly layers: readonly number[] | undefined; readonly base: boolean }) {
    const query = address("", {
      layers: shows.layers && (shows.layers.join(",") || "0"),
      base: shows.base ? undefined : 0,
      lng: this.lng(place.project),
      retina: L.Browser.retina ? 2 : undefined,
      token: this.sessions.of(place.project)?.token,
    });
    return { path: `tms/${path(place.project, place.map)}`, query: query.replace("?", "&") };
  }

  /** The page's language where the project has it and it is not the main one anyway. */
  private lng(project: string): string | undefined {
    const languages = this.languagesOf.get(project) ?? [];
    return languages.indexOf(this.language) > 0 ? this.language : undefined;
  }

  private get<T>(
    project: string,
    segments: readonly string[],
    query: Query = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const token = this.sessions.of(project)?.token;
    return this.send(address(`api/2.8/${path(project, ...segments)}`, { lng: this.lng(project), ...query }), {
      ...(token ? { headers: { authorization: `Bearer ${token}` } } : {}),
      ...(signal ? { signal } : {}),
    });
  }

  private async send<T>(relative: string, init: RequestInit = {}): Promise<T> {
    let reply: Response;
    try {
      reply = await fetch(relative, { credentials: "omit", referrerPolicy: "no-referrer", ...init });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError(0, undefined);
    }
    if (reply.ok) return (await reply.json()) as T;
    const body = (await reply.json().catch(() => undefined)) as { code?: string } | undefined;
    throw new ServerError(reply.status, body?.code);
  }
}
