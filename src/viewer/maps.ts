import { type BaseMap, localName } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";

/** The maps that the viewer offers for choice. */

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
  /** Not published: only who has signed in may see it. */
  readonly isPrivate: boolean;
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
    published: boolean;
    attribution: unknown;
  }[];
}

/**
 * Every project that is not hidden with its published maps, names in `language` where they have it; or one project
 * with all its maps, the private ones among them, for the caller to choose from by rights.
 */
export async function viewerMaps(
  db: Queryable,
  language: string,
  onlyProject?: string,
): Promise<ViewerProject[]> {
  const rows = await db.query<Row>(
    `select p.code, p.name, p.languages, p.base_map->>'kind' as base,
       (select coalesce(json_agg(json_build_object('code', m.code, 'name', m.name, 'localized', m.localized_name,
            'names', m.names, 'published', m.has_publication, 'attribution', m.json->'attribution')
            order by m.sort, m.id), '[]')
          from map m where m.project_id = p.id and (m.has_publication or $1::text is not null)) as maps
     from project p where not p.hidden and ($1::text is null or p.code = $1) order by p.id`,
    [onlyProject ?? null],
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
      isPrivate: !map.published,
    })),
  }));
}
