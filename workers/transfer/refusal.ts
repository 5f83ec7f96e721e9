import type { BadRow, ImportResponse } from "../../src/hosts/import-messages.js";

type Code = Extract<ImportResponse, { ok: false }>["code"];

/** An error in the file, which ends the import: one sentence for the user, and details. */
export class Refusal extends Error {
  constructor(
    readonly code: Code,
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/** A feature that cannot be imported; the others can. The message is a clause, without the feature's number and a full stop. */
export class BadFeature extends Error {
  constructor(
    readonly code: Extract<Code, BadRow["code"]>,
    message: string,
  ) {
    super(message);
    this.name = "BadFeature";
  }
}

export const refused = (message: string, data?: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal("import_failed", message, data);

export const badFeature = (reason: string): BadFeature => new BadFeature("import_failed", reason);

export const badGeometry = (reason: string): BadFeature => new BadFeature("invalid_geometry", reason);
