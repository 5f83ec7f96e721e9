import { chart, sizeQuestion } from "../charts.js";
import type { VisualKind } from "../kind.js";

/** Pie chart on each object: the shares of some columns. */

export const pies: VisualKind = { ...chart, question: sizeQuestion };
