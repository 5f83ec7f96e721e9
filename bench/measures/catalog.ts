import { createFolder } from "../../src/catalog/folders.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { besideQuery } from "../bare-query.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";
import type { World } from "../world.js";

/** A map and its layer tree over HTTP, without a login, beside a bare handler with one statement for each. */

const treeCode = "tree";
const folders = 5;
const layersPerFolder = 5;

const mapStatement = `
select json_build_object('id', m.id, 'code', m.code, 'name', m.name, 'css_style', m.css_style,
  'group_layers', m.group_layers, 'has_publication', m.has_publication)::text as o
from map m join project p on p.id = m.project_id
where p.code = $1 and m.code = $2 and m.has_publication`;

// Two levels, as this tree has them.
const treeStatement = `
select coalesce(json_agg(json_build_object('id', n.id, 'type', n.type, 'code', n.code, 'name', n.name,
    'sort', n.sort, 'parent_id', coalesce(n.parent_id, 0), 'selected', n.selected, 'map_layer_id', n.id,
    'icon', case when n.icon <> '' or n.type = 'folder' then n.icon
      else concat('/api/2.8/', p.code, '/', m.code, '/layers/', n.code, '/icon/') end,
    'render_type', n.render_type, 'style_mode', n.style_mode, 'json', n.json)
  order by coalesce(parent.sort, n.sort), n.parent_id nulls first, n.sort), '[]')::text as o
from node n join map m on m.id = n.map_id join project p on p.id = m.project_id
left join node parent on parent.id = n.parent_id
where p.code = $1 and m.code = $2 and m.has_publication`;

export async function catalogByHttp(context: Context): Promise<Row[]> {
  const { world } = context;
  await makeTree(world);
  const server = await startServer(world.config({ redisPrefix: "bench-catalog:" }), world.log);
  const values = [[projectCode, treeCode]];
  const path = `/api/2.8/${projectCode}/${treeCode}/`;
  try {
    return [
      ...(await besideQuery(context, server, {
        measure: "map",
        gate: 0.5,
        paths: [path],
        statement: mapStatement,
        values,
      })),
      ...(await besideQuery(context, server, {
        measure: `layer tree (${folders * (layersPerFolder + 1)} elements)`,
        gate: 0.5,
        paths: [`${path}layers/`],
        statement: treeStatement,
        values,
      })),
    ];
  } finally {
    await server.stop();
  }
}

/** Makes the map with its tree, unless an earlier run has. */
async function makeTree(world: World): Promise<void> {
  await withCatalogue(world, async ({ db, project }) => {
    const present = await db.query("select from map where project_id = $1 and code = $2", [
      project.id,
      treeCode,
    ]);
    if (present.length > 0) return;
    const named = (name: string) => ({ name, localized: false, names: {} });
    const map = await createMap(db, project.id, { code: treeCode, name: named("A map with a tree") });
    for (let folder = 1; folder <= folders; folder++) {
      const parentId = await createFolder(db, map, { name: named(`Folder ${folder}`) });
      for (let layer = 1; layer <= layersPerFolder; layer++) {
        await createLayer(db, map, { parentId, name: named(`Layer ${layer} of folder ${folder}`) });
      }
    }
  });
}
