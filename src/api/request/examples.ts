import { readFileSync } from "node:fs";

/** Examples of requests and answers of the operations, for the API's description; a test walks them and takes them anew. */

export interface OperationExample {
  /** Bodies by their media types. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** JSON. */
  readonly answer?: unknown;
}

/** By the ids of operations. */
export type OperationExamples = Readonly<Record<string, OperationExample>>;

export const loadExamples = (): OperationExamples =>
  JSON.parse(readFileSync(new URL("examples.json", import.meta.url), "utf8")) as OperationExamples;
