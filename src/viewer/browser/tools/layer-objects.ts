import type { ColumnInfo, MapId, MapServer, ObjectItem } from "../map-server.js";
import type { Query } from "../paths.js";

/** Reads pages of a layer's objects, and files of them, as the server selects and sorts them. */

export interface Sorting {
  readonly code: string;
  readonly descending: boolean;
}

/** Which objects, in the terms of the API. */
export interface Selected {
  /** In the filter language; undefined = all. */
  readonly filter: string | undefined;
  /** SW_LAT,SW_LON,NE_LAT,NE_LON; undefined = everywhere. */
  readonly fbbox: string | undefined;
}

export interface PageAsked {
  readonly selected: Selected;
  readonly sort: Sorting | undefined;
  readonly limit: number;
  /** How many to skip; with `after`, after that object. */
  readonly offset: number;
  readonly after?: number | undefined;
  readonly withCount?: boolean;
  readonly signal: AbortSignal;
}

export interface TableRow {
  readonly id: number;
  /** By column code; formatted by the server where the column has a format. */
  readonly fields: Readonly<Record<string, unknown>>;
}
export interface Page {
  readonly rows: readonly TableRow[];
  /** Number of objects on all pages, if it was asked for. */
  readonly total: number | undefined;
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === "";

const fieldsById = (items: readonly ObjectItem[]) =>
  new Map(items.map(({ id, fields }) => [id, fields ?? {}]));

/** Longer conditions are sent in a body: not all proxies take long addresses. */
const maxAddress = 1_500;

export class LayerObjects {
  constructor(
    private readonly server: MapServer,
    readonly mapId: MapId,
    private readonly layer: string,
    /** That are read. */
    private readonly columns: readonly ColumnInfo[],
  ) {}

  /** @throws ServerError, AbortError */
  async page(asked: PageAsked): Promise<Page> {
    const { sort, selected, signal } = asked;
    const query: Query = {
      ...selected,
      sort: sort && `${sort.code},${sort.descending ? "d" : "a"}`,
      limit: asked.limit,
      offset: asked.after === undefined && asked.offset > 0 ? asked.offset : undefined,
      after: asked.after,
    };
    const codes = (columns: readonly ColumnInfo[]) => columns.map(({ code }) => code).join(",");
    const read = (more: Query) => this.list({ ...query, ...more }, signal);
    // In the formats of their columns, and in the main language where there is no translation.
    const formatted = this.columns.filter(({ format }) => format !== undefined);
    const translated = this.server.isTranslated(this.mapId)
      ? this.columns.filter(({ localized_value: localized }) => localized)
      : [];
    const own = await read({ fields: codes(this.columns), count: asked.withCount ? 1 : undefined });
    // The same objects: in another language a condition may select others.
    const same = { filter: `"svc_id" in (${own.items.map(({ id }) => id).join(",")})`, limit: asked.limit };
    const again = async (columns: readonly ColumnInfo[], more: Query) =>
      columns.length > 0 && own.items.length > 0
        ? (await this.list({ ...same, fields: codes(columns), ...more }, signal)).items
        : [];
    const [main, texts] = await Promise.all([
      again(translated, { lng: undefined }),
      again(formatted, { f: "fjson" }),
    ]);
    const mainOf = fieldsById(main);
    const textsOf = fieldsById(texts);
    const rows = own.items.map(({ id, fields = {} }) => {
      const values: Record<string, unknown> = { ...fields };
      for (const [code, value] of Object.entries(mainOf.get(id) ?? {}))
        if (isEmpty(values[code])) values[code] = value;
      for (const [code, value] of Object.entries(textsOf.get(id) ?? {}))
        if (!isEmpty(values[code])) values[code] = value;
      return { id, fields: values };
    });
    return { rows, total: own.total };
  }

  /** How many objects are selected. */
  async count(selected: Selected, signal: AbortSignal): Promise<number> {
    const { total } = await this.list({ ...selected, limit: 1, count: 1 }, signal);
    return total ?? 0;
  }

  /** The values of a column, of the first objects, and how many objects there are. */
  async column(
    selected: Selected,
    code: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ readonly values: readonly unknown[]; readonly total: number }> {
    const { items, total } = await this.list({ ...selected, fields: code, limit, count: 1 }, signal);
    return { values: items.map(({ fields }) => fields?.[code]), total: total ?? items.length };
  }

  /** The values of some columns, as the server has them. */
  async values(
    selected: Selected,
    fields: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<ObjectItem[]> {
    return (await this.list({ ...selected, fields, limit }, signal)).items;
  }

  /** An object with its geometry, simplified for a zoom, and all its values; undefined when there is none any more. */
  async object(id: number, zoom: number, signal: AbortSignal): Promise<ObjectItem | undefined> {
    const query = { filter: `"svc_id" = ${id}`, fields: "*", returnGeom: 1, geomZoom: zoom, limit: 1 };
    return (await this.list(query, signal)).items[0];
  }

  /** The address of a file with the objects, and the parts of a request for it. */
  exported(selected: Selected, format: string): { readonly path: readonly string[]; readonly query: Query } {
    return { path: [...this.path, "export"], query: { ...selected, format } };
  }

  private get path(): readonly string[] {
    return [this.mapId.map, "layers", this.layer];
  }

  private async list(
    query: Query,
    signal: AbortSignal,
  ): Promise<{ readonly items: ObjectItem[]; readonly total: number | undefined }> {
    const isLong = (query.filter?.toString().length ?? 0) > maxAddress;
    const answer = await this.server.answer(
      this.mapId.project,
      [...this.path, isLong ? "filter" : "objects"],
      query,
      {
        method: isLong ? "POST" : "GET",
        signal,
      },
    );
    const total = answer.headers.get("x-total-count");
    return {
      items: (await answer.json()) as ObjectItem[],
      total: total === null ? undefined : Number(total),
    };
  }
}
