import type { LayerNode, ProjectState } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import type { CompileRequest } from "../../hosts/messages.js";
import type { CompiledStyle } from "../../style/model.js";
import { missingFonts, missingPicture, picturesOf } from "../../style/pictures.js";
import type { Services } from "../services.js";

/** Columns that are named in the notices. */
const mostNamed = 10;

/** What the style asks for and the layer does not have. */
function missingColumns(
  {
    fields,
    labelFields = [],
    pictureFields = [],
  }: Pick<CompiledStyle, "fields" | "labelFields" | "pictureFields">,
  { columns }: Pick<LayerNode, "columns">,
): string[] {
  const known = new Set(["svc_id", ...columns.map(({ code }) => code)]);
  return [...new Set([...fields, ...labelFields, ...pictureFields])]
    .sort()
    .filter((code) => !known.has(code))
    .slice(0, mostNamed)
    .map((code) => `The layer has no column "${code}": it has no value for any object.`);
}

/**
 * Compiles a style that is to be stored.
 * @param layer that it is for, if there is one already
 * @returns what of it has no effect, for its author
 * @throws Failure invalid_style, also when it shows pictures that there are none of; busy
 */
export async function checkStyle(
  services: Services,
  project: ProjectState,
  texts: Omit<CompileRequest, "deadlineMs">,
  layer?: Pick<LayerNode, "columns">,
): Promise<readonly string[]> {
  const { deadlineMs } = services.config.style;
  const owner = { project: project.id, stored: false };
  const { style } = await services.styles.compile({ ...texts, deadlineMs }, owner);
  const pictures = picturesOf(project, services.icons);
  const missing = missingPicture(style, pictures);
  if (missing !== undefined) throw failed("invalid_style", missing);
  return [
    ...(style.notices ?? []),
    ...(layer ? missingColumns(style, layer) : []),
    ...missingFonts(style, pictures),
  ];
}
