import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { compileStyle } from "./compile.js";

/** The thread of the render host that compiles CartoCSS. It is ended when a style takes too long. */
export default async function run(request: CompileRequest): Promise<CompileResponse> {
  return compileStyle(request);
}
