import type { ProjectState } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import type { CompileRequest } from "../../hosts/messages.js";
import { missingFonts, missingPicture, picturesOf } from "../../style/pictures.js";
import type { Services } from "../services.js";

/**
 * Compiles a style that is to be stored.
 * @returns what of it has no effect, for its author
 * @throws Failure invalid_style, also when it shows pictures that there are none of; busy
 */
export async function checkStyle(
  services: Services,
  project: ProjectState,
  texts: Omit<CompileRequest, "deadlineMs">,
): Promise<readonly string[]> {
  const { deadlineMs } = services.config.style;
  const owner = { project: project.id, stored: false };
  const { style } = await services.styles.compile({ ...texts, deadlineMs }, owner);
  const pictures = picturesOf(project, services.icons);
  const missing = missingPicture(style, pictures);
  if (missing !== undefined) throw failed("invalid_style", missing);
  return [...(style.notices ?? []), ...missingFonts(style, pictures)];
}
