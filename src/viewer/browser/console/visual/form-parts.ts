import type { Translate } from "../../texts.js";
import type { SymbolKind } from "../style-form.js";
import type { Column, Visual } from "./settings.js";

/** What the parts of the form of a visualization are made of. */

export interface VisualForm {
  /** undefined = the layer has none */
  readonly settings: Visual | undefined;
  /** Id of the layer. */
  readonly of: number | undefined;
  readonly columns: readonly Column[];
  /** What the layer's style draws. */
  readonly shapes: ReadonlySet<SymbolKind>;
  /** Of the column that it is built from; undefined = not read yet. */
  readonly values: readonly unknown[] | undefined;
}

export interface FormParts {
  readonly t: Translate;
  readonly language: string;
  readonly form: VisualForm;
  /** Changes the settings as they are by then, of which a control may have been made before. */
  readonly change: (next: (now: Visual) => Visual) => void;
}
