import { setImmediate } from "node:timers/promises";
import { editInBulk } from "../../features/bulk.js";
import { type BulkPlan, bulkOperations } from "../../features/bulk-body.js";
import type { Reply, Request } from "../../http/types.js";
import { parseJsonList } from "../../json.js";
import { callerHeaders } from "../request/caller.js";
import { editableContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import type { BodyDefinition } from "../request/schema/bodies.js";
import { type JsonSchema, ref } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { sentBulk } from "./object-bodies.js";
import { geometryParameters, languageParameter, languagesOf } from "./object-parameters.js";

/** Many edits of a layer in one request. */

const parameters = { geomSR: geometryParameters.geomSR, lng: languageParameter };

const edit: JsonSchema = {
  type: "object",
  required: ["op"],
  properties: {
    op: { enum: bulkOperations, description: "What is done." },
    id: { type: "integer", description: "The object to update or delete." },
    fields: {
      type: "object",
      additionalProperties: true,
      description: "Values by column code, as when one object is created or changed.",
    },
    geom: { anyOf: [ref("Geometry"), { type: "null" }], description: "GeoJSON; null for none." },
  },
};

const body: BodyDefinition<readonly unknown[]> = {
  limits: sizes.bulk,
  known: { items: {} },
  content: {
    "application/json": { type: "array", items: edit },
    "application/x-ndjson": { type: "string", description: "An edit in each line." },
  },
  read: async (request) => parseJsonList(await request.body.bytes(), request.body.limits),
};

const created = bulkOperations.indexOf("create");

async function edits(
  request: Request,
  services: Services,
  { query, body, ignored }: Input<typeof parameters, readonly unknown[]>,
): Promise<Reply> {
  const { map, layer, caller } = await editableContext(request, services);
  const { geomSR: srid, lng } = query();
  const languages = languagesOf(map, lng);
  const plan = await sentBulk(request, services, { caller, body, rules: { srid, languages, layer } });
  ignored.addHeader(plan.ignored);
  if (plan.operations.includes(created)) services.fullProjects.requireRoom(map.project);
  const { ids, receipt } = await editInBulk(services.db, layer, {
    plan,
    language: languages.own,
  });
  await services.changes.propagate(receipt);
  return { kind: "json_text", text: await answerOf(plan, ids), headers: callerHeaders(caller) };
}

const editsAtOnce = 10_000;

/** In parts, so that others have their turn. */
async function answerOf({ operations }: BulkPlan, ids: Float64Array): Promise<readonly string[]> {
  const parts: string[] = [];
  for (let at = 0; at < ids.length; at += editsAtOnce) {
    if (at > 0) await setImmediate();
    const some = Array.from(
      ids.subarray(at, at + editsAtOnce),
      (id, index) => `{"op":"${bulkOperations[operations[at + index]!]}","id":${id}}`,
    );
    parts.push((at > 0 ? "," : "") + some.join(","));
  }
  return ["[", ...parts, "]"];
}

export const objectBulkOperations: readonly Operation[] = [
  operation({
    id: "changeObjects",
    tag: "Objects",
    summary: "Create, change and delete many objects at once",
    details:
      "In one transaction: all edits are done, or none. Each is checked as a single one; edits of one object are done in their " +
      "order. An error is that of the first edit that cannot be done, with its place, from 0, in `data.index`, and " +
      "`data.items` has more of them, with `index`, `code`, `message` and `data`. A body has at most 100000 edits.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/objects/bulk/`,
    writes: true,
    changes: { unconditionally: "It may change any number of objects." },
    query: parameters,
    body,
    answer: answers("For each edit, in their order, what was done to which object.", {
      type: "array",
      items: {
        type: "object",
        required: ["op", "id"],
        properties: { op: { enum: bulkOperations }, id: { type: "integer" } },
      },
    }),
    refuses: [
      "invalid_value",
      "unknown_column",
      "required_parameters",
      "invalid_geometry",
      "constraint_violated",
      "project_full",
    ],
    handle: edits,
  }),
];
