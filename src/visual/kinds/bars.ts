import { chart, labelled, scaleQuestion } from "../charts.js";
import type { VisualKind } from "../kind.js";

/** Bar chart on each object: a bar for each of some columns. */

export const bars: VisualKind = { ...chart, titled: labelled, question: scaleQuestion };
