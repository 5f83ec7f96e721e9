import { chart, scaleQuestion } from "../charts.js";
import type { VisualKind } from "../kind.js";

/** Line chart on each object: the values of some columns, one after the other. */

export const lines: VisualKind = { ...chart, question: scaleQuestion };
