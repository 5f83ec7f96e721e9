import { savePublication } from "../catalog/publication.js";
import { requireRight } from "../catalog/rights.js";
import { type PublicationElement, Right } from "../catalog/state.js";
import { type Failure, failed, required } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { type Fields, isObject, own, textField } from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";
import { treeElements } from "./tree.js";
import { again, visit } from "./visit.js";

/** The publication tree: saving it. `layers/` serves it. */

async function publish(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const { map, caller } = visitor;
  requireRight(map, caller, Right.editStructure);
  const list = await request.body.json();
  if (!Array.isArray(list)) throw failed("invalid_value", "The body must be an array of elements.");
  await savePublication(services.db, map.id, elementsOf(list));
  await services.changes.settle({ maps: [map.id] });
  return answer(caller, await treeElements(services, await again(visitor, services)));
}

/** The elements of a request. One without `sort` has its place among its siblings, in the order of the request. */
function elementsOf(list: readonly unknown[]): PublicationElement[] {
  const places = new Map<number, number>();
  return list.map((item, at) => {
    if (!isObject(item)) throw failed("invalid_value", "Each element must be an object.", { element: at });
    const missing = ["id", "parent_id", "map_layer_id"].filter((name) => own(item, name) === undefined);
    if (missing.length > 0) throw required(missing);
    const id = wholeNumber(item, "id");
    if (id === 0) throw invalid("id", "is not 0, which stands for the root");
    const parentId = wholeNumber(item, "parent_id");
    const place = (places.get(parentId) ?? 0) + 1;
    places.set(parentId, place);
    return {
      id,
      parentId,
      nodeId: wholeNumber(item, "map_layer_id"),
      sort: finiteNumber(item, "sort") ?? place,
      selected: choice(item, "selected") ?? true,
      icon: textField(item, "icon") ?? "",
    };
  });
}

const invalid = (name: string, what: string): Failure =>
  failed("invalid_value", `${name} ${what}.`, { parameter: name });

function wholeNumber(item: Fields, name: string): number {
  const number = finiteNumber(item, name);
  if (number === undefined || !Number.isSafeInteger(number)) throw invalid(name, "must be a whole number");
  return number;
}

function finiteNumber(item: Fields, name: string): number | undefined {
  const value = own(item, name);
  if (value === undefined) return undefined;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) throw invalid(name, "must be a number");
  return number;
}

function choice(item: Fields, name: string): boolean | undefined {
  const value = own(item, name);
  if (value === undefined) return undefined;
  if (value === true || value === 1 || value === "1" || value === "true") return true;
  if (value === false || value === 0 || value === "0" || value === "false") return false;
  throw invalid(name, "must be true or false");
}

export const publishRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/publish/`, handler: publish },
];
