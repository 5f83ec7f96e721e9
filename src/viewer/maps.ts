import { type BaseMap, localName } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";

/** What the viewer offers for choice before anybody has signed in. */
export interface ViewerProject {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly base: BaseMap["kind"];
  readonly maps: readonly ViewerMap[];
}
export interface ViewerMap {
  readonly code: string;
  readonly name: string;
  /** Plain text from the map's settings (`json.attribution`); "" when there is none. */
  readonly attribution: string;
}

interface Row {
  code: string;
  name: string;
  languages: string[];
  base: BaseMap["kind"];
  maps: {
    code: string;
    name: string;
    localized: boolean;
    names: Record<string, string>;
    attribution: unknown;
  }[];
}

/** Every project that is not hidden with its published maps, names in `language` where they have it. */
export async function publishedMaps(db: Queryable, language: string): Promise<ViewerProject[]> {
  const rows = await db.query<Row>(
    `select p.code, p.name, p.languages, p.base_map->>'kind' as base,
       (select coalesce(json_agg(json_build_object('code', m.code, 'name', m.name, 'localized', m.localized_name,
            'names', m.names, 'attribution', m.json->'attribution') order by m.sort, m.id), '[]')
          from map m where m.project_id = p.id and m.has_publication) as maps
     from project p where not p.hidden order by p.id`,
  );
  return rows.map((row) => ({
    code: row.code,
    name: row.name,
    languages: row.languages,
    base: row.base,
    maps: row.maps.map((map) => ({
      code: map.code,
      name: localName(map, language, row.languages[0] ?? "en"),
      attribution: typeof map.attribution === "string" ? map.attribution : "",
    })),
  }));
}
