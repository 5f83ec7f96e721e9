import {
  constrainedColumns,
  fitsConstraint,
  type NewConstraint,
  offendersFilter,
  replaceConstraints,
  validated,
} from "../catalog/constraints.js";
import { longestExpression } from "../catalog/regular-expression.js";
import { requireRead, requireRight } from "../catalog/rights.js";
import { type Column, type ConstraintType, type LayerNode, Right } from "../catalog/state.js";
import { badRequest, failed, notFound, unauthenticated } from "../errors.js";
import { readValue } from "../features/values.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { type Fields, isObject, own, textField } from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, type Visit, visit } from "./visit.js";

/** Constraints of a layer's columns, for administrators. */

const limits = { constraints: 200, values: 1_000, nameLength: 200 } as const;

async function list(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  return answerConstraints(services, visitor, administeredLayer(visitor, request));
}

async function replace(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const layer = administeredLayer(visitor, request);
  if (layer.type !== "layer") {
    throw failed("invalid_value", "The objects of this layer come from elsewhere.", { type: layer.type });
  }
  const body = await request.body.json();
  if (!Array.isArray(body)) throw badRequest("The body must be an array of constraints.");
  if (body.length > limits.constraints) {
    throw failed("invalid_value", `A layer has at most ${limits.constraints} constraints.`);
  }
  await replaceConstraints(
    services.db,
    layer.id,
    body.map((item) => readConstraint(item, layer)),
  );
  await services.changes.settle({ maps: [visitor.map.id] });
  const now = await again(visitor, services);
  const changed = now.map.layers.get(layer.code);
  if (!changed) throw notFound(`layer "${layer.code}"`);
  return answerConstraints(services, now, changed);
}

/** The layer of the path, for an administrator. @throws Failure unauthenticated, forbidden, not_found */
function administeredLayer({ map, caller }: Visit, request: Request): LayerNode {
  if (caller.accountId === null) throw unauthenticated();
  requireRead(map, caller);
  const layer = map.layers.get(request.params.layer!);
  requireRight(map, caller, Right.administer, layer);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  return layer;
}

async function answerConstraints(services: Services, { caller }: Visit, layer: LayerNode): Promise<Reply> {
  const kept = await validated(services.db, layer);
  return answer(
    caller,
    (layer.constraints ?? []).map((constraint) => {
      const columns = constrainedColumns(layer, constraint);
      return {
        type: constraint.type,
        name: constraint.name,
        columns: columns.map(({ code }) => code),
        definition: constraint.definition,
        raw_definition: offendersFilter(constraint, columns),
        validated: kept.get(constraint.id) ?? true,
      };
    }),
  );
}

const refuse = (parameter: string, message: string) => failed("invalid_value", message, { parameter });

/** @throws Failure invalid_value, unknown_column, bad_request */
function readConstraint(item: unknown, layer: LayerNode): NewConstraint {
  if (!isObject(item)) throw badRequest("Each constraint must be a JSON object.");
  const type = own(item, "type");
  if (type !== "enum" && type !== "range" && type !== "pattern") {
    throw refuse("type", "The type of a constraint is enum, range or pattern.");
  }
  const name = textField(item, "name") ?? "";
  if (name.length > limits.nameLength) throw refuse("name", "The name of a constraint is too long.");
  const columns = columnsOf(item, type, layer);
  const definitions = columns.map((column) => definitionOf(type, own(item, "definition"), column));
  const [definition] = definitions;
  if (definitions.some((other) => JSON.stringify(other) !== JSON.stringify(definition))) {
    throw refuse("columns", "The columns of one constraint must have one type.");
  }
  return { type, name, columns, definition: definition! };
}

function columnsOf(item: Fields, type: ConstraintType, layer: LayerNode): Column[] {
  const codes = own(item, "columns");
  if (!Array.isArray(codes) || codes.length === 0 || codes.length > 100) {
    throw refuse("columns", "columns must be an array of 1 to 100 column codes.");
  }
  const columns = new Set<Column>();
  for (const code of codes) {
    const column = layer.columns.find((candidate) => candidate.code === code);
    if (!column) throw failed("unknown_column", "The layer has no such column.", { column: String(code) });
    if (!fitsConstraint(type, column))
      throw refuse("columns", `A constraint of type ${type} cannot be on the column ${column.code}.`);
    columns.add(column);
  }
  return [...columns];
}

/** The definition in values of the column's type. */
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
  const ordered = least === null || greatest === null || order(least) <= order(greatest);
  if (read.length !== 2 || !ordered || (least === null && greatest === null))
    throw refuse("definition", "A range is [least, greatest], one of them may be null.");
  return read;
}

/** Numbers and moments as numbers that compare alike. */
const order = (value: unknown): number => (typeof value === "number" ? value : Date.parse(String(value)));

function patternOf(given: unknown): string {
  if (typeof given !== "string" || given === "" || given.length > longestExpression) {
    throw refuse(
      "definition",
      `A pattern is one regular expression of at most ${longestExpression} characters.`,
    );
  }
  return given;
}

const constraintsPath = `${projectPath}/:map/layers/:layer/constraints/`;

export const constraintRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: constraintsPath, handler: list },
  { methods: ["PUT"], path: constraintsPath, handler: replace },
];
