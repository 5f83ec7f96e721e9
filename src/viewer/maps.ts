import { mayRead, rightsOn, rightsOnProject } from "../access/rights.js";
import {
  type BaseMap,
  type Caller,
  type Grant,
  type LocalizedName,
  localName,
  type MapBase,
  type ProjectState,
  publicCaller,
  type StartView,
} from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";

/** The list of maps in the viewer. */

export interface ViewerProject {
  readonly code: string;
  readonly name: string;
  readonly languages: readonly string[];
  readonly base: BaseMap["kind"];
  /** Whether that is the built-in one in a look that writes names. */
  readonly baseHasNames: boolean;
  /** Whom to name as the author of a base map of the project's own. */
  readonly baseAttribution: string;
  /** Rights of the user on the project, where there is one. */
  readonly access?: number;
  readonly maps: readonly ViewerMap[];
}
export interface ViewerMap {
  readonly code: string;
  readonly name: string;
  /** Plain text from the map's settings (`json.attribution`); "" when there is none. */
  readonly attribution: string;
  /** Of its base map, where it has another one than its project. */
  readonly base?: ViewerProject["base"];
  readonly baseHasNames?: boolean;
  /** Whether its style has a background colour, which covers the base map. */
  readonly hasBackground: boolean;
  /** Not published: visible to signed-in users with rights only. */
  readonly isPrivate: boolean;
  /** What is seen at first; absent = all of its data. */
  readonly startView?: StartView;
  /** Plain text; absent = none. */
  readonly description?: string;
  /** Rights of the user on the map, where there is one. */
  readonly access?: number;
}

/** A project with the maps that the caller may see, before names are localised. */
export interface FoundProject extends Omit<ViewerProject, "maps"> {
  readonly maps: readonly FoundMap[];
}
interface FoundMap extends LocalizedName {
  readonly id: number;
  readonly code: string;
  readonly hasPublication: boolean;
  readonly hasBackground: boolean;
  readonly attribution: unknown;
  readonly startView: StartView | null;
  readonly base: MapBase | null;
  readonly description: string;
  readonly access?: number;
}
interface FoundGrant extends Grant {
  /** The map of the grant's layer. */
  readonly layerMapId: number | null;
}
interface Row extends FoundProject {
  readonly id: number;
  readonly grants: readonly FoundGrant[];
}

/** A project and its caller. */
export interface ProjectAccess {
  readonly project: Pick<ProjectState, "code" | "members">;
  readonly caller: Caller;
}

/**
 * All projects that are not hidden, with their public maps; with `access`, only that project, with the maps that the caller
 * may see. One statement reads maps and grants, so that no project or map has to be loaded.
 */
export async function findMaps(db: Queryable, access?: ProjectAccess): Promise<FoundProject[]> {
  const caller = access?.caller ?? publicCaller;
  const rows = await db.query<Row>(
    `select p.id, p.code, p.name, p.languages, p.base_map->>'kind' as base,
       p.base_map->>'kind' = 'builtin' and coalesce(p.base_map->>'style', '') <> 'muted' as "baseHasNames",
       coalesce(p.base_map->>'attribution', '') as "baseAttribution",
       (select coalesce(json_agg(json_build_object('id', m.id, 'code', m.code, 'name', m.name,
            'localized', m.localized_name, 'names', m.names, 'hasPublication', m.has_publication,
            'attribution', m.json->'attribution', 'startView', m.start_view, 'base', m.base_map,
            'description', left(m.comment, $6::int),
            'hasBackground', case when octet_length(m.css_style) <= $5::int and strpos(m.css_style, 'background-color') > 0
              then regexp_replace(m.css_style, $3, '', 'g') ~ $4 else false end) order by m.sort, m.id), '[]')
          from map m where m.project_id = p.id and (m.has_publication or $1::text is not null)) as maps,
       (select coalesce(json_agg(json_build_object('mapId', g.map_id, 'layerId', g.layer_id, 'layerMapId', n.map_id,
            'accountId', g.account_id, 'rights', g.rights)), '[]')
          from access_grant g left join node n on n.id = g.layer_id
          where g.project_id = p.id and (g.account_id is null or g.account_id = $2)) as grants
     from project p where not p.hidden and ($1::text is null or p.code = $1) order by p.id`,
    [
      access?.project.code ?? null,
      caller.accountId,
      commentInStyle,
      coveringBackground,
      mostLooked,
      mostDescribed,
    ],
  );
  return rows.map(({ id, grants, ...found }) => {
    const project = { id, grants, members: access?.project.members ?? noMembers };
    const layersOf = (mapId: number) => ({
      values: () =>
        grants.flatMap(({ layerId, layerMapId }) =>
          layerId !== null && layerMapId === mapId ? [{ id: layerId }] : [],
        ),
    });
    const mayBeSeen = ({ id: mapId, hasPublication }: FoundMap) =>
      mayRead({ id: mapId, hasPublication, project, layers: layersOf(mapId) }, caller);
    const maps = found.maps.filter(mayBeSeen);
    if (!access) return { ...found, maps };
    const withAccess = maps.map((map) => ({ ...map, access: rightsOn({ ...map, project }, caller) }));
    return { ...found, access: rightsOnProject(project, caller), maps: withAccess };
  });
}

/** Bytes of a style that is looked through: the list is that of all maps of all projects, and theirs may come to megabytes each. */
const mostLooked = 10_000;
/** Characters, which the API takes; in the database may be longer ones. */
const mostDescribed = 2_000;
const commentInStyle = String.raw`/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|//[^\n]*`;
/** Only a map has a background. The base map is seen through a translucent one. */
const coveringBackground = String.raw`\mbackground-color\s*:(?!\s*(?:rgba|hsla|transparent))`;

const noMembers: ProjectState["members"] = new Map();

const shownBase = (base: MapBase) => ({
  base: base === "none" ? base : ("builtin" as const),
  baseHasNames: base === "builtin" || base === "builtin-dark",
});

/** A project with names in the language, or the project's main language when there is no translation. */
export function shownProject(project: FoundProject, language: string): ViewerProject {
  return {
    ...project,
    maps: project.maps.map((map) => ({
      code: map.code,
      name: localName(map, language, project.languages[0] ?? "en"),
      attribution: typeof map.attribution === "string" ? map.attribution : "",
      hasBackground: map.hasBackground,
      isPrivate: !map.hasPublication,
      ...(map.base && shownBase(map.base)),
      ...(map.startView && { startView: map.startView }),
      ...(map.description && { description: map.description }),
      ...(map.access !== undefined && { access: map.access }),
    })),
  };
}
