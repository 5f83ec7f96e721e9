import { type Failure, failed } from "../errors.js";

/** Parameters of an import that are JSON texts. */

/** Undefined = it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns invalid_value */
export const refuseParameter = (parameter: string, problem: string): Failure =>
  failed("invalid_value", `${parameter} ${problem}.`, { parameter });
