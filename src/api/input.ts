import { checkText } from "../catalog/codes.js";
import { badRequest, failed } from "../errors.js";
import type { Request } from "../http/types.js";

/** Readers that turn what came into typed values, once. */

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The request's body as a JSON object. @throws Failure bad_request */
export async function bodyObject(request: Request): Promise<Fields> {
  const value = await request.body.json();
  if (!isObject(value)) throw badRequest("The body must be a JSON object.");
  return value;
}

/** A field of its own, null counting as absent. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}

/** @throws Failure invalid_value when it is no text that can be stored */
export function textField(fields: Fields, name: string): string | undefined {
  const value = own(fields, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string")
    throw failed("invalid_value", `${name} must be a string.`, { parameter: name });
  return checkText(value, name);
}

/** @throws Failure bad_request for what is no finite number */
export function numberField(fields: Fields, name: string): number | undefined {
  const value = own(fields, name);
  if (value === undefined || value === "") return undefined;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) throw badRequest(`${name} must be a number.`);
  return number;
}
