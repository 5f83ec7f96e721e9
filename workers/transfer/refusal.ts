import type { ImportResponse } from "../../src/hosts/messages.js";

type Refused = Extract<ImportResponse, { ok: false }>;

/** An error in the file: one sentence for the user, and the position in the file. */
export class Refusal extends Error {
  constructor(
    readonly code: Refused["code"],
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "Refusal";
  }
}

export const refused = (message: string, data?: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal("import_failed", message, data);

/** `feature` counts from 1. */
export const badGeometry = (feature: number, reason: string): Refusal =>
  new Refusal("invalid_geometry", `Feature ${feature}: ${reason}.`, { feature });
