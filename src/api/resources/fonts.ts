import { join } from "node:path";
import { deleteFont, saveFont } from "../../catalog/fonts.js";
import type { StoredFont } from "../../catalog/state.js";
import { failed, notFound } from "../../errors.js";
import { blameFile, type ImageUser } from "../../hosts/image.js";
import { maxFontBytes } from "../../hosts/messages.js";
import type { Reply, Request } from "../../http/types.js";
import { installedFace, isFontPath } from "../../style/fonts.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer, imageUser } from "../request/caller.js";
import { answers, type BodyOf, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { ofCatalogue, type Resource, stateOf } from "../request/resource.js";
import { binary, upload } from "../request/schema/bodies.js";
import { ref } from "../request/schema/schema.js";
import { receiveFor } from "../request/upload.js";
import type { Services } from "../services.js";
import { administered, authorizedBy, withFolder } from "./style-files.js";

/** Fonts for the styles of a project, for its administrators. */

const fontObject = (path: string, { format, names, bytes }: StoredFont): Answered<"Font"> => ({
  path,
  format,
  faces: [...names],
  bytes,
});

async function list(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  return answer(
    caller,
    [...project.fonts].map(([path, font]) => fontObject(path, font)),
  );
}

const fontBody = upload(
  {},
  {
    file: "The font: TTF or OTF.",
    bytes: maxFontBytes,
    raw: { "font/ttf": binary, "font/otf": binary, "application/octet-stream": binary },
  },
);

async function put(
  request: Request,
  services: Services,
  { body }: Input<unknown, BodyOf<typeof fontBody>>,
): Promise<Reply> {
  const authorized = authorizedBy(request, services);
  const { context, sent } = await receiveFor(request, body, async (token) => {
    const administered = await authorized(token);
    pathOf(request);
    return administered;
  });
  const path = pathOf(request);
  const { project, caller } = context;
  return withFolder(services, async (folder) => {
    const target = join(folder, "font");
    const font = await checked(services, { path: sent.file.path, target }, imageUser(request, caller));
    const known = project.fonts.get(path);
    // Before the row that refers to it. After a crash in between, it is deleted later.
    const blob = known?.digest === font.digest ? known.blob : await services.blobs.put(target);
    // Another node may have removed the font just now.
    if (blob === known?.blob) await services.blobs.putBack(blob);
    const stored = { ...font, blob };
    await saveFont(services.db, project.id, { path, ...stored });
    await services.changes.propagate();
    return answer(caller, fontObject(path, stored));
  });
}

/** The font of an upload, written anew. @throws Failure unsupported_format, busy */
async function checked(
  services: Services,
  request: { readonly path: string; readonly target: string },
  user: ImageUser,
) {
  const response = await services.image
    .call("font", request, user)
    .catch((error: unknown) =>
      blameFile(error, failed("unsupported_format", "The font is damaged, or takes too long to read.")),
    );
  if (!response.ok) throw failed("unsupported_format", `The font cannot be used. ${response.error}`);
  const { format, digest, bytes } = response;
  const names = response.names.filter((name) => installedFace([name]) === undefined);
  if (names.length === 0)
    throw failed(
      "unsupported_format",
      `The font cannot be used. The installation has ${response.names[0]} already.`,
    );
  return { format, digest, bytes, names };
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  if (!(await deleteFont(services.db, project.id, pathOf(request)))) throw notFound("font of that path");
  await services.changes.propagate();
  return answer(caller, null);
}

/** @throws Failure invalid_value */
function pathOf(request: Request): string {
  const path = request.params.path!.normalize();
  if (isFontPath(path)) return path;
  throw failed(
    "invalid_value",
    "The path of a font ends in .ttf or .otf; its folders and its name begin with a letter, a digit or _.",
    { parameter: "path" },
  );
}

/** All of them: each has a path, and no answer of its own. */
const fontResource: Resource = {
  ...ofCatalogue({ name: "list of fonts", lockedBy: "project" }, ({ project }) =>
    stateOf([...project.fonts]),
  ),
  isThere: ({ project, params: { path } }) => path === undefined || project.fonts.has(path.normalize()),
};

const fontsPath = `${projectPath}/fonts`;

export const fontOperations: readonly Operation[] = [
  operation({
    id: "listFonts",
    tag: "Maps",
    summary: "List the fonts for styles",
    access: "token",
    methods: ["GET"],
    path: `${fontsPath}/`,
    shows: fontResource,
    answer: answers("The fonts, by path.", { type: "array", items: ref("Font") }),
    handle: list,
  }),
  operation({
    id: "saveFont",
    tag: "Maps",
    summary: "Upload a font for styles",
    details:
      "CartoCSS of the project uses it by the names in `faces`: `text-face-name: 'Noto Sans Bold'`. Names that the " +
      "installation has fonts of are not among them. Fonts are written anew: outlines, sizes, characters and the rules of " +
      "scripts are kept, programs for hinting are not. A font may have 4 MB, a project 100 of them and 32 MB.",
    access: "token",
    methods: ["PUT"],
    path: `${fontsPath}/:path*`,
    writes: true,
    changes: fontResource,
    body: fontBody,
    answer: answers("The font.", ref("Font")),
    refuses: ["invalid_value", "unsupported_format", "project_full"],
    handle: put,
  }),
  operation({
    id: "deleteFont",
    tag: "Maps",
    summary: "Delete a font for styles",
    details: "Labels that use it are drawn in a font of the installation that is similar to its name.",
    access: "token",
    methods: ["DELETE"],
    path: `${fontsPath}/:path*`,
    writes: true,
    changes: fontResource,
    answer: answers("Nothing.", { type: "null" }),
    refuses: [404, "invalid_value"],
    handle: remove,
  }),
];
