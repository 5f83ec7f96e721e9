import type { GeometryKind } from "../geo/wkb.js";
import type { Pause, Slices } from "../queues/slices.js";
import type { Queryable } from "../storage/postgres.js";
import { columnsInOrder } from "./column-order.js";
import { type ColumnRow, columnOf } from "./column-rows.js";
import { withIdAlias } from "./id-alias.js";
import { type RasterRow, rasterOf } from "./rasters.js";
import { selectionIn } from "./selected.js";
import type {
  BaseMap,
  Column,
  ColumnConstraint,
  Grant,
  LayerNode,
  LayerSource,
  MapBase,
  MapState,
  NodeType,
  ProjectKey,
  ProjectState,
  PublicationElement,
  Role,
  StartView,
  StoredFont,
  StoredPicture,
  StoredSettings,
  Thinning,
  TreeNode,
} from "./state.js";

/** Reads projects and maps from the database. Each is read in one statement, so it is consistent. */

interface ProjectRow {
  id: number;
  code: string;
  name: string;
  languages: [string, ...string[]];
  base_map: BaseMap;
  hidden: boolean;
  revision: number;
  members: { account_id: number; login: string; role: Role }[];
  grants: Grant[];
  keys: (ProjectKey & { readonly hash: string })[];
  pictures: (StoredPicture & { readonly path: string })[];
  fonts: (StoredFont & { readonly path: string })[];
}

/** The project with this code, if any. */
export async function loadProject(db: Queryable, code: string): Promise<ProjectState | undefined> {
  const [row] = await db.query<ProjectRow>(
    `select p.id, p.code, p.name, p.languages, p.base_map, p.hidden, p.revision,
       (select coalesce(json_agg(json_build_object('account_id', a.id, 'login', a.login, 'role', m.role)), '[]')
          from membership m join account a on a.id = m.account_id where m.project_id = p.id) as members,
       (select coalesce(json_agg(json_build_object('mapId', map_id, 'layerId', layer_id,
            'accountId', account_id, 'rights', rights)), '[]')
          from access_grant where project_id = p.id) as grants,
       (select coalesce(json_agg(json_build_object('hash', hash, 'accountId', account_id,
            'endsAt', extract(epoch from ends_at) * 1000)), '[]')
          from access_key where project_id = p.id) as keys,
       (select coalesce(json_agg(json_build_object('path', path, 'blob', blob, 'digest', digest, 'format', format,
            'width', width, 'height', height, 'bytes', bytes) order by path), '[]')
          from picture where project_id = p.id) as pictures,
       (select coalesce(json_agg(json_build_object('path', path, 'blob', blob, 'digest', digest, 'format', format,
            'names', names, 'bytes', bytes) order by path), '[]')
          from font where project_id = p.id) as fonts
     from project p where p.code = $1`,
    [code],
  );
  if (!row) return undefined;
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    languages: row.languages,
    baseMap: row.base_map,
    hidden: row.hidden,
    revision: row.revision,
    members: new Map(row.members.map(({ account_id, login, role }) => [account_id, { login, role }])),
    grants: row.grants,
    keys: new Map(row.keys.map(({ hash, ...key }) => [hash, key])),
    pictures: new Map(row.pictures.map(({ path, ...picture }) => [path, picture])),
    fonts: new Map(row.fonts.map(({ path, ...font }) => [path, font])),
  };
}

interface NodeRow {
  id: number;
  type: NodeType;
  parent_id: number | null;
  code: string;
  name: string;
  localized_name: boolean;
  names: Record<string, string>;
  sort: number;
  selected: boolean;
  icon: string;
  json: Record<string, unknown>;
  css_style: string;
  render_type: TreeNode["renderType"];
  style_mode: TreeNode["styleMode"];
  owner_id: number | null;
  source: LayerSource | null;
  visual_settings: StoredSettings | null;
  visual_custom_settings: StoredSettings | null;
  vector_settings: StoredSettings | null;
  geometry_kind: GeometryKind | null;
  bands: number[] | null;
  gathered: number[] | null;
  line_bends: number | null;
  has_runs: boolean | null;
  crowds: number[] | null;
  thinnings: Thinning[] | null;
  crosses_antimeridian: boolean | null;
  source_id: number | null;
  raster: RasterRow | null;
}
interface ConstraintRow extends ColumnConstraint {
  readonly layerId: number;
}
interface MapRow {
  id: number;
  code: string;
  name: string;
  localized_name: boolean;
  names: Record<string, string>;
  css_style: string;
  group_layers: MapState["groupLayers"];
  has_publication: boolean;
  sort: number;
  json: Record<string, unknown>;
  comment: string;
  start_view: StartView | null;
  base_map: MapBase | null;
  owner_id: number | null;
  revision: number;
}

/** What a map consists of, in parts, so that none of a large map holds the event loop while it is read. */
type MapPart =
  | { readonly kind: "map"; readonly data: MapRow }
  | { readonly kind: "publication"; readonly data: PublicationElement[] }
  | { readonly kind: "node"; readonly data: NodeRow }
  | { readonly kind: "columns"; readonly data: ColumnRow[] }
  | { readonly kind: "constraints"; readonly data: ConstraintRow[] };

interface MapRows {
  readonly map: MapRow;
  /** null = the map has no publication tree. */
  readonly publication: PublicationElement[] | null;
  readonly nodes: readonly NodeRow[];
  /** Of each layer in its order. */
  readonly columns: readonly ColumnRow[];
  readonly constraints: readonly ConstraintRow[];
}

export interface MapLoading {
  /** Alias of svc_id; "" = none. */
  readonly idAlias?: string;
  /** For maps of thousands of layers and folders: others have their turn meanwhile. */
  readonly slices?: Slices;
}

const noPause: Pause = () => Promise.resolve();

/** The map with this code in the project, if any. */
export async function loadMap(
  db: Queryable,
  project: ProjectState,
  code: string,
  { idAlias = "", slices }: MapLoading = {},
): Promise<MapState | undefined> {
  const parts = await db.query<MapPart>(
    `with m as materialized (select * from map where project_id = $1 and code = $2)
     select 'map' as kind, to_jsonb(m) - 'publication' as data from m
     union all
     select 'publication', coalesce(e.part, '[]') from m left join lateral (
       select jsonb_agg(element order by place) as part
       from jsonb_array_elements(m.publication) with ordinality as one(element, place) group by place / 500
         order by place / 500) e on true
       where m.publication is not null
     union all
     select 'node', to_jsonb(n) || jsonb_build_object('geometry_kind', l.geometry_kind, 'bands', l.bands, 'gathered', l.gathered,
         'line_bends', l.line_bends, 'crowds', l.crowds, 'has_runs', l.has_runs, 'crosses_antimeridian', l.crosses_antimeridian,
         'source_id', l.source_id, 'raster', to_jsonb(r), 'thinnings', (
           select json_agg(json_build_object('number', t.number, 'digest', t.digest, 'levels', t.bands) order by t.number)
           from thinning t where t.layer_id = n.id and t.retired_at is null))
       from m join node n on n.map_id = m.id left join layer l on l.id = n.id left join raster r on r.layer_id = n.id
     union all
     select 'columns', jsonb_agg(c order by c.sort, c.id)
       from m join node n on n.map_id = m.id join layer_column c on c.layer_id = n.id group by n.id
     union all
     select 'constraints', jsonb_agg(jsonb_build_object('id', c.id, 'layerId', c.layer_id, 'type', c.type, 'name', c.name,
         'columnIds', c.column_ids, 'definition', c.definition) order by c.sort)
       from m join node n on n.map_id = m.id join column_constraint c on c.layer_id = n.id group by n.id`,
    [project.id, code],
  );
  const rows = mapRows(parts);
  const pause = slices?.begin(`p${project.id}`) ?? noPause;
  return rows && mapState(rows, project, { idAlias, pause });
}

function mapRows(parts: readonly MapPart[]): MapRows | undefined {
  let map: MapRow | undefined;
  let publication: PublicationElement[] | null = null;
  const nodes: NodeRow[] = [];
  const columns: ColumnRow[] = [];
  const constraints: ConstraintRow[] = [];
  for (const { kind, data } of parts) {
    if (kind === "map") map = data;
    else if (kind === "publication") {
      publication ??= [];
      publication.push(...data);
    } else if (kind === "node") nodes.push(data);
    else if (kind === "columns") columns.push(...data);
    else constraints.push(...data);
  }
  return map && { map, publication, nodes, columns, constraints };
}

async function mapState(
  rows: MapRows,
  project: ProjectState,
  { idAlias, pause }: { readonly idAlias: string; readonly pause: Pause },
): Promise<MapState> {
  const row = rows.map;
  const columns = new Map<number, Column[]>();
  for (const column of rows.columns) {
    const list = columns.get(column.layer_id) ?? [];
    columns.set(column.layer_id, list);
    list.push(columnOf(column));
    await pause();
  }
  const byId = new Map(rows.nodes.map((node) => [node.id, node]));
  const selection = selectionIn(rows.publication, (id) => byId.get(id)?.parent_id ?? null);
  const constraints = new Map<number, ColumnConstraint[]>();
  for (const { layerId, ...constraint } of rows.constraints) {
    const list = constraints.get(layerId) ?? [];
    constraints.set(layerId, list);
    list.push(constraint);
  }
  const nodes = new Map<number, TreeNode | LayerNode>();
  const layers = new Map<string, LayerNode>();
  const children = new Map<number, (TreeNode | LayerNode)[]>();
  for (const node of rows.nodes) {
    const common = {
      id: node.id,
      parentId: node.parent_id,
      code: node.code,
      name: node.name,
      localized: node.localized_name,
      names: node.names,
      sort: node.sort,
      selected: selection(node.id) ?? node.selected,
      icon: node.icon,
      json: node.json,
      cssStyle: node.css_style,
      renderType: node.render_type,
      styleMode: node.style_mode,
      ownerId: node.owner_id,
    };
    let state: TreeNode | LayerNode;
    if (node.type === "folder") state = { ...common, type: node.type };
    else {
      // A virtual layer has the geometry kind and generalization levels of its source.
      const withGeometry = (node.type === "virtual" && byId.get(node.source_id ?? 0)) || node;
      const layer: LayerNode = {
        ...common,
        type: node.type,
        geometryKind: withGeometry.geometry_kind ?? "Unknown",
        generalizationLevels: withGeometry.bands ?? [],
        smallFeatureLevels: node.gathered,
        lineBends: node.line_bends ?? 0,
        hasVertexChunks: withGeometry.has_runs ?? false,
        density: node.crowds,
        thinnings: node.thinnings ?? [],
        crossesAntimeridian: withGeometry.crosses_antimeridian ?? false,
        sourceId: node.source_id,
        source: node.source,
        raster: node.raster && rasterOf(node.raster),
        visualSettings: node.visual_settings,
        visualCustomSettings: node.visual_custom_settings,
        vectorSettings: node.vector_settings,
        columns: withIdAlias(columnsInOrder(columns.get(node.id) ?? []), idAlias),
        constraints: constraints.get(node.id) ?? [],
      };
      layers.set(layer.code, layer);
      state = layer;
    }
    nodes.set(node.id, state);
    const siblings = children.get(node.parent_id ?? 0) ?? [];
    children.set(node.parent_id ?? 0, siblings);
    siblings.push(state);
    await pause();
  }
  for (const siblings of children.values()) siblings.sort((a, b) => a.sort - b.sort || a.id - b.id);
  return {
    id: row.id,
    project,
    code: row.code,
    name: row.name,
    localized: row.localized_name,
    names: row.names,
    cssStyle: row.css_style,
    groupLayers: row.group_layers,
    hasPublication: row.has_publication,
    sort: row.sort,
    json: row.json,
    comment: row.comment,
    startView: row.start_view,
    base: row.base_map,
    ownerId: row.owner_id,
    revision: row.revision,
    publication: rows.publication,
    nodes,
    layers,
    children,
  };
}
