import { deletePicture, savePictures } from "../../catalog/pictures.js";
import type { ProjectState, StoredPicture } from "../../catalog/state.js";
import { failed, notFound } from "../../errors.js";
import { blameFile, type ImageUser } from "../../hosts/image.js";
import { maxPictureArchiveBytes, maxPictureBytes, type SafePicture } from "../../hosts/messages.js";
import type { Reply, Request } from "../../http/types.js";
import { isPicturePath } from "../../style/picture-path.js";
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

/** Pictures for the styles of a project, for its administrators. */

const pictureObject = (path: string, picture: StoredPicture): Answered<"Picture"> => ({
  path,
  format: picture.format,
  width: picture.width,
  height: picture.height,
  bytes: picture.bytes,
});

async function list(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  return answer(
    caller,
    [...project.pictures].map(([path, picture]) => pictureObject(path, picture)),
  );
}

const pictureBody = upload(
  {},
  {
    file: "The picture: PNG, SVG or WebP, as its path says.",
    bytes: maxPictureBytes,
    raw: {
      "image/png": binary,
      "image/svg+xml": binary,
      "image/webp": binary,
      "application/octet-stream": binary,
    },
  },
);
const archiveBody = upload(
  {},
  {
    file: "A zip archive of pictures.",
    bytes: maxPictureArchiveBytes,
    raw: { "application/zip": binary, "application/octet-stream": binary },
  },
);

async function put(
  request: Request,
  services: Services,
  { body }: Input<unknown, BodyOf<typeof pictureBody>>,
): Promise<Reply> {
  const authorized = authorizedBy(request, services);
  const { context, sent } = await receiveFor(request, body, async (token) => {
    const administered = await authorized(token);
    pathOf(request);
    return administered;
  });
  const path = pathOf(request);
  return withFolder(services, async (folder) => {
    const { pictures, refused } = await checked(
      services,
      { path: sent.file.path, name: path, folder },
      imageUser(request, context.caller),
    );
    const [picture] = pictures;
    if (!picture)
      throw failed("unsupported_format", `The picture cannot be used. ${refused[path] ?? ""}`.trim());
    const [stored] = await store(services, context.project, [picture]);
    return answer(context.caller, pictureObject(path, stored!));
  });
}

async function putAll(
  request: Request,
  services: Services,
  { body }: Input<unknown, BodyOf<typeof archiveBody>>,
): Promise<Reply> {
  const { context, sent } = await receiveFor(request, body, authorizedBy(request, services));
  return withFolder(services, async (folder) => {
    const { pictures, refused } = await checked(
      services,
      { path: sent.file.path, folder },
      imageUser(request, context.caller),
    );
    const stored = await store(services, context.project, pictures);
    return answer(context.caller, {
      pictures: stored.map(({ path, ...picture }) => pictureObject(path, picture)),
      refused,
    } satisfies Answered<"SavedPictures">);
  });
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  const path = pathOf(request);
  if (!(await deletePicture(services.db, project.id, path))) throw notFound("picture of that path");
  await services.changes.propagate();
  return answer(caller, null);
}

/** @throws Failure invalid_value */
function pathOf(request: Request): string {
  const path = request.params.path!.normalize();
  if (isPicturePath(path)) return path;
  throw failed(
    "invalid_value",
    "The path of a picture ends in .png, .svg or .webp; its folders and its name begin with a letter, a digit or _.",
    { parameter: "path" },
  );
}

/** The pictures of an upload, written anew. @throws Failure unsupported_format, busy */
async function checked(
  services: Services,
  request: { readonly path: string; readonly name?: string; readonly folder: string },
  user: ImageUser,
) {
  const response = await services.image
    .call("pictures", request, user)
    .catch((error: unknown) =>
      blameFile(error, failed("unsupported_format", "The pictures are damaged, or take too long to read.")),
    );
  if (!response.ok) throw failed("unsupported_format", response.error);
  return response;
}

/** Each is waited for until the disk has it. */
const storedAtOnce = 16;

/** Stores the blobs before the rows that refer to them. After a crash in between, they are deleted later. */
async function store(services: Services, project: ProjectState, pictures: readonly SafePicture[]) {
  const stored: (StoredPicture & { readonly path: string })[] = [];
  // Of two files with one path in an archive the last one counts.
  const wanted = [...new Map(pictures.map((one) => [one.path, one])).values()];
  for (let at = 0; at < wanted.length; at += storedAtOnce) {
    const part = wanted.slice(at, at + storedAtOnce).map(async ({ file, ...picture }) => {
      const known = project.pictures.get(picture.path);
      const blob = known?.digest === picture.digest ? known.blob : await services.blobs.put(file);
      // Another node may have removed the picture just now.
      if (blob === known?.blob) await services.blobs.putBack(blob);
      return { ...picture, blob };
    });
    stored.push(...(await Promise.all(part)));
  }
  await savePictures(services.db, project.id, stored);
  await services.changes.propagate();
  return stored;
}

/** All of them: each has a path, and no answer of its own. */
const pictureResource: Resource = {
  ...ofCatalogue({ name: "list of pictures", lockedBy: "project" }, ({ project }) =>
    stateOf([...project.pictures]),
  ),
  isThere: ({ project, params: { path } }) => path === undefined || project.pictures.has(path.normalize()),
};

const picturesPath = `${projectPath}/pictures`;
const refusals = ["invalid_value", "unsupported_format", "project_full"] as const;

export const pictureOperations: readonly Operation[] = [
  operation({
    id: "listPictures",
    tag: "Maps",
    summary: "List the pictures for styles",
    access: "token",
    methods: ["GET"],
    path: `${picturesPath}/`,
    shows: pictureResource,
    answer: answers("The pictures, by path.", { type: "array", items: ref("Picture") }),
    handle: list,
  }),
  operation({
    id: "savePictures",
    tag: "Maps",
    summary: "Upload a zip of pictures for styles",
    details:
      "The paths in the archive are those of the pictures. Files that are not .png, .svg or .webp are left out; " +
      "`refused` says why others were.",
    access: "token",
    methods: ["POST"],
    path: `${picturesPath}/`,
    writes: true,
    changes: pictureResource,
    body: archiveBody,
    answer: answers("The saved pictures.", ref("SavedPictures")),
    refuses: refusals,
    handle: putAll,
  }),
  operation({
    id: "savePicture",
    tag: "Maps",
    summary: "Upload a picture for styles",
    details:
      "CartoCSS of the project shows it by its path: `url(symbols/tree.svg)`. Pictures are written anew: of an SVG " +
      "shapes and gradients are kept, of an animation the first frame. They may have 1 MB and 1024 × 1024 pixels.",
    access: "token",
    methods: ["PUT"],
    path: `${picturesPath}/:path*`,
    writes: true,
    changes: pictureResource,
    body: pictureBody,
    answer: answers("The picture.", ref("Picture")),
    refuses: refusals,
    handle: put,
  }),
  operation({
    id: "deletePicture",
    tag: "Maps",
    summary: "Delete a picture for styles",
    details: "Styles that show it are drawn without it.",
    access: "token",
    methods: ["DELETE"],
    path: `${picturesPath}/:path*`,
    writes: true,
    changes: pictureResource,
    answer: answers("Nothing.", { type: "null" }),
    refuses: [404, "invalid_value"],
    handle: remove,
  }),
];
