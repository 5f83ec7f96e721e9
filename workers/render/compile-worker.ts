import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { compileStyle } from "./compile.js";

/**
 * The thread of the render host that compiles CartoCSS. It is terminated when a style takes too long.
 * @param request null asks whether the thread is ready
 */
export default async function run(request: CompileRequest | null): Promise<CompileResponse | "ready"> {
  return request === null ? "ready" : compileStyle(request);
}
