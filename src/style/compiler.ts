import type { CompileRequest } from "../hosts/messages.js";
import type { CompiledStyle, MapProperties } from "./model.js";

/** CartoCSS to checked styles, compiled in the render host and remembered by content. */
export interface StyleCompiler {
  /** @throws Failure invalid_style with a sentence for the style's author */
  compile(request: CompileRequest): Promise<{ readonly style: CompiledStyle; readonly map: MapProperties }>;
}
