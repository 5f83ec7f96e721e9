import type { ExportFileResponse } from "../../../src/hosts/export-messages.js";

/** The files cannot be completed; the server says so to the client. */
export class Unwritable extends Error {
  constructor(
    readonly reason: Extract<ExportFileResponse, { ok: false }>["reason"],
    message: string,
  ) {
    super(message);
  }
}
