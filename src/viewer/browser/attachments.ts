import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import { type PictureEntry, showLightbox } from "./lightbox.js";
import type { AttachedFile } from "./map-server.js";
import { sizeText } from "./size-text.js";

/** The files of an object: pictures to look at, others to download. */

export interface AttachmentSource {
  /** All files of the object. @throws when they can not be loaded */
  files(): Promise<readonly AttachedFile[]>;
  /** The address of a picture within a box of that many pixels of the page, in its own shape. It is never larger than it is. */
  picture(file: AttachedFile, width: number, height: number): Promise<string>;
  /** @throws when it can not be loaded */
  download(file: AttachedFile): Promise<void>;
  failed(): void;
}

/** Pixels of the first picture, and of those below it. */
const [leadWidth, leadHeight] = [356, 176];
const [thumbnailWidth, thumbnailHeight] = [144, 72];
/** What the server makes smaller, and browsers show. */
const pictureTypes = /^image\/(?:png|jpeg|webp|gif|avif|tiff)$/;

/**
 * The files with these ids, comma-separated: their number, and below it those that are no pictures.
 * @param gallery where the pictures are put
 */
export function attachmentList(
  text: string,
  source: AttachmentSource,
  locale: Locale,
  gallery: HTMLElement,
): HTMLElement {
  const { t } = locale;
  const ids = text.split(",").filter(Boolean).map(Number);
  const list = h("div", { class: "attachments" }, t("files", { n: ids.length }));
  source.files().then(
    (files) => {
      const byId = new Map(files.map((file) => [file.id, file]));
      const listed = ids.flatMap((id) => byId.get(id) ?? []);
      const pictures = listed.filter(({ mime }) => pictureTypes.test(mime));
      gallery.append(...pictureEntries(pictures, source, locale));
      const others = listed.filter((file) => !pictures.includes(file));
      if (others.length > 0) list.replaceChildren(...fileEntries(others, source, locale));
    },
    // The number stays.
    () => undefined,
  );
  return list;
}

/** The first picture large, the others below it. A press shows them over the whole page. */
function pictureEntries(
  pictures: readonly AttachedFile[],
  source: AttachmentSource,
  { t }: Locale,
): HTMLElement[] {
  const shown = pictures.map(
    (file): PictureEntry => ({
      name: file.name,
      address: (width, height) => source.picture(file, width, height),
      download: () => void source.download(file).catch(() => source.failed()),
    }),
  );
  const entries = pictures.map((file, at) => {
    const image = h("img", { alt: file.name, decoding: "async" });
    const opener = button(
      { class: at === 0 ? "thumbnail lead" : "thumbnail", title: file.name },
      () => showLightbox(shown, at, t),
      image,
    );
    const failed = () => opener.replaceChildren(file.name);
    image.addEventListener("error", failed);
    const [width, height] = at === 0 ? [leadWidth, leadHeight] : [thumbnailWidth, thumbnailHeight];
    source.picture(file, Math.min(width, window.innerWidth), height).then((address) => {
      image.src = address;
    }, failed);
    return opener;
  });
  const [lead, ...others] = entries;
  if (!lead) return [];
  return others.length > 0 ? [lead, h("div", { class: "thumbnails" }, ...others)] : [lead];
}

const fileEntries = (files: readonly AttachedFile[], source: AttachmentSource, locale: Locale) =>
  files.map((file) =>
    button(
      { class: "attached-file", title: locale.t("downloadFile", { name: file.name }) },
      () => void source.download(file).catch(() => source.failed()),
      icon("download"),
      h("span", { class: "attached-name" }, file.name),
      h("small", {}, sizeText(file.size, locale.language)),
    ),
  );
