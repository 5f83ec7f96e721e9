import { z } from "zod";
import {
  constrainedColumns,
  fitsConstraint,
  type NewConstraint,
  replaceConstraints,
  validated,
  violationsFilter,
} from "../../catalog/constraints.js";
import { maxExpressionLength } from "../../catalog/regular-expression.js";
import type { Column, ColumnConstraint, ConstraintType, LayerNode } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import { readValue } from "../../features/values.js";
import type { Reply, Request } from "../../http/types.js";
import { onceForEach } from "../../once.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { type LayerContext, layerContext, permittedLayer, reload, toAdminister } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ofCatalogue, stateOf } from "../request/resource.js";
import { jsonArray } from "../request/schema/bodies.js";
import { anything, invalid, text } from "../request/schema/fields.js";
import { failing, ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Constraints on the columns of a layer, for administrators. */

const limits = { constraints: 200, columns: 100, values: 1_000, nameLength: 200 } as const;

async function list(request: Request, services: Services): Promise<Reply> {
  return answerConstraints(request, services, await layerContext(request, services, toAdminister));
}

async function replace(
  request: Request,
  services: Services,
  { body }: Input<unknown, GivenConstraint[]>,
): Promise<Reply> {
  const context = await layerContext(request, services, toAdminister);
  const { layer } = context;
  if (layer.type !== "layer") {
    throw failed("invalid_value", "The objects of this layer come from elsewhere.", { type: layer.type });
  }
  const pause = services.slices.begin(`p${context.map.project.id}`);
  const constraints: NewConstraint[] = [];
  for (const given of await body()) {
    constraints.push(constraintOf(given, layer));
    await pause();
  }
  // Before anything is locked: others change the map meanwhile.
  const results = await validated(services.db, layer, constraints, request.signal);
  const known = new Map<string, boolean>();
  for (const [index, constraint] of constraints.entries()) {
    known.set(meaningOf(constraint), results[index]!);
    await pause();
  }
  await replaceConstraints(services.db, { mapId: context.map.id, layerId: layer.id }, constraints);
  await services.changes.propagate();
  const now = await reload(context, services);
  const saved = { ...now, layer: permittedLayer(now, request.params.layer!, toAdminister) };
  return answerConstraints(request, services, saved, known);
}

/** @param known whether they hold, by their meaning */
async function answerConstraints(
  request: Request,
  services: Services,
  { caller, map, layer }: LayerContext,
  known: ReadonlyMap<string, boolean> = new Map(),
): Promise<Reply> {
  // Their values may come to megabytes.
  const pause = services.slices.begin(`p${map.project.id}`);
  const constraints: (ColumnConstraint & Pick<NewConstraint, "columns">)[] = [];
  const results: (boolean | undefined)[] = [];
  for (const constraint of layer.constraints ?? []) {
    const columns = constrainedColumns(layer, constraint);
    constraints.push({ ...constraint, columns });
    results.push(known.size === 0 ? undefined : known.get(meaningOf({ ...constraint, columns })));
    await pause();
  }
  const unknown = constraints.filter((_, index) => results[index] === undefined);
  const found = (await validated(services.db, layer, unknown, request.signal)).values();
  const answered: Answered<"Constraint">[] = [];
  for (const [index, constraint] of constraints.entries()) {
    const { type, name, columns, definition } = constraint;
    answered.push({
      type,
      name,
      columns: columns.map(({ code }) => code),
      definition,
      raw_definition: violationsFilter(constraint, columns),
      validated: results[index] ?? found.next().value!,
    });
    await pause();
  }
  return answer(caller, answered);
}

/** Those of which it is the same hold for the same objects. */
const meaningOf = ({ type, columns, definition }: Omit<NewConstraint, "name">): string =>
  JSON.stringify([type, columns.map(({ id }) => id).sort((one, other) => one - other), definition]);

const refuse = (parameter: string, message: string) => failed("invalid_value", message, { parameter });

const severalCodes = `must be an array of 1 to ${limits.columns} column codes`;

const constraintFields = {
  type: ruled(z.enum(["enum", "range", "pattern"]), {
    refuse: (name) => refuse(name, "The type of a constraint is enum, range or pattern."),
    blanks: [null],
  }).describe(
    "enum = one of the given values, range = between two values, pattern = matches a regular expression.",
  ),
  name: text("Name of the constraint.")
    .refine(
      (name) => name.length <= limits.nameLength,
      failing(() => refuse("name", "The name of a constraint is too long.")),
    )
    .default(""),
  columns: ruled(
    z.array(z.coerce.string(), severalCodes).min(1, severalCodes).max(limits.columns, severalCodes),
    {
      refuse: invalid,
      blanks: [null],
    },
  ).describe("Codes of the columns that it applies to."),
  definition: anything(
    "The allowed values; [minimum, maximum], one of which may be null; the regular expression.",
    {
      anyOf: [{ type: "array", items: {}, maxItems: limits.values }, { type: "string" }],
    },
  ).optional(),
};
type GivenConstraint = Values<typeof constraintFields>;

/** @throws Failure invalid_value, unknown_column */
function constraintOf(given: GivenConstraint, layer: LayerNode): NewConstraint {
  const { type, name } = given;
  const columns = columnsOf(given.columns, type, layer);
  // The definition is parsed once per column type.
  const byType = new Map(columns.map((column) => [column.type, column]));
  const definitions = [...byType.values()].map((column) =>
    definitionOf(type, given.definition ?? undefined, column),
  );
  const [definition] = definitions;
  if (definitions.some((other) => JSON.stringify(other) !== JSON.stringify(definition))) {
    throw refuse("columns", "The columns of one constraint must have one type.");
  }
  return { type, name, columns, definition: definition! };
}

function columnsOf(codes: readonly string[], type: ConstraintType, layer: LayerNode): Column[] {
  const columns = new Set<Column>();
  for (const code of codes) {
    const column = layer.columns.find((candidate) => candidate.code === code);
    if (!column) throw failed("unknown_column", "The layer has no such column.", { column: code });
    if (!fitsConstraint(type, column))
      throw refuse("columns", `A constraint of type ${type} cannot be on the column ${column.code}.`);
    columns.add(column);
  }
  return [...columns];
}

/** The definition, converted to the type of the column. */
function definitionOf(type: ConstraintType, given: unknown, column: Column): unknown[] {
  if (type === "pattern") return [patternOf(Array.isArray(given) && given.length === 1 ? given[0] : given)];
  if (!Array.isArray(given) || given.length === 0 || given.length > limits.values) {
    throw refuse("definition", `definition must be an array of 1 to ${limits.values} values.`);
  }
  const read = given.map((value) => {
    if (type === "range" && value === null) return null;
    const result = readValue(column, value);
    if (!result.ok || result.json === null) {
      throw refuse("definition", `The definition holds what is no value of type ${column.type}.`);
    }
    return result.json;
  });
  if (type === "enum") return read;
  const [least, greatest] = read;
  const ordered = least === null || greatest === null || sortKey(least) <= sortKey(greatest);
  if (read.length !== 2 || !ordered || (least === null && greatest === null))
    throw refuse("definition", "A range is [least, greatest], one of them may be null.");
  return read;
}

/** A number or timestamp as a number, for comparison. */
const sortKey = (value: unknown): number => (typeof value === "number" ? value : Date.parse(String(value)));

function patternOf(given: unknown): string {
  if (typeof given !== "string" || given === "" || given.length > maxExpressionLength) {
    throw refuse(
      "definition",
      `A pattern is one regular expression of at most ${maxExpressionLength} characters.`,
    );
  }
  return given;
}

/** What they say, not whether objects keep to it. */
const constraintsResource = ofCatalogue({ name: "constraints", lockedBy: "map" }, ({ map, params }) => {
  const layer = map?.layers.get(params.layer!);
  return layer && constraintStates(layer);
});

const constraintStates = onceForEach((layer: LayerNode) =>
  stateOf(
    (layer.constraints ?? []).map((constraint) => {
      const { type, name, definition } = constraint;
      return [type, name, definition, constrainedColumns(layer, constraint).map(({ code }) => code)];
    }),
  ),
);

const constraintsAnswer = answers("The constraints.", { type: "array", items: ref("Constraint") });

export const constraintOperations: readonly Operation[] = [
  operation({
    id: "listConstraints",
    tag: "Structure",
    summary: "Get the constraints of a layer",
    access: "token",
    methods: ["GET"],
    path: `${layerPath}/constraints/`,
    shows: constraintsResource,
    answer: constraintsAnswer,
    handle: list,
  }),
  operation({
    id: "saveConstraints",
    tag: "Structure",
    summary: "Replace the constraints of a layer",
    details:
      "Constraints are checked when objects are saved. Existing objects are not changed: `validated` is false if " +
      "some of them violate the constraint, and `raw_definition` selects these.",
    access: "token",
    methods: ["PUT"],
    path: `${layerPath}/constraints/`,
    writes: true,
    long: true,
    shows: constraintsResource,
    changes: constraintsResource,
    body: jsonArray(constraintFields, {
      item: "constraint",
      items: "constraints",
      most: limits.constraints,
      limits: sizes.list,
    }),
    answer: constraintsAnswer,
    refuses: ["invalid_value", "unknown_column"],
    handle: replace,
  }),
];
