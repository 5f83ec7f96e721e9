import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import { type PictureEntry, showLightbox } from "./lightbox.js";
import type { AttachedFile } from "./map-server.js";

/** The files of an object: pictures to look at, others to download. */

export interface AttachmentSource {
  /** All files of the object. @throws when they can not be loaded */
  files(): Promise<readonly AttachedFile[]>;
  /** The address of a picture within a square. @param pixels a side, before those of the display */
  picture(file: AttachedFile, pixels: number): Promise<string>;
  /** @throws when it can not be loaded */
  download(file: AttachedFile): Promise<void>;
  failed(): void;
}

const thumbnailPixels = 72;
const largePixels = 1_200;
/** What the server makes smaller, and browsers show. */
const pictureTypes = /^image\/(?:png|jpeg|webp|gif|avif|tiff)$/;

/** The files with these ids, comma-separated. Until they are known, their number. */
export function attachmentList(text: string, source: AttachmentSource, locale: Locale): HTMLElement {
  const { t } = locale;
  const ids = text.split(",").filter(Boolean).map(Number);
  const list = h("div", { class: "attachments" }, t("files", { n: ids.length }));
  source.files().then(
    (files) => {
      const byId = new Map(files.map((file) => [file.id, file]));
      const listed = ids.flatMap((id) => byId.get(id) ?? []);
      if (listed.length > 0) list.replaceChildren(...entries(listed, source, locale));
    },
    // The number stays.
    () => undefined,
  );
  return list;
}

function entries(files: readonly AttachedFile[], source: AttachmentSource, locale: Locale): HTMLElement[] {
  const pictures = files.filter(({ mime }) => pictureTypes.test(mime));
  const others = files.filter((file) => !pictures.includes(file));
  const shown = pictures.map(
    (file): PictureEntry => ({
      name: file.name,
      address: () => source.picture(file, largePixels),
      download: () => void source.download(file).catch(() => source.failed()),
    }),
  );
  const thumbnails = pictures.map((file, at) => {
    const image = h("img", {
      alt: file.name,
      width: thumbnailPixels,
      height: thumbnailPixels,
      decoding: "async",
    });
    const opener = button(
      { class: "thumbnail", title: file.name },
      () => showLightbox(shown, at, locale.t),
      image,
    );
    source.picture(file, thumbnailPixels).then(
      (address) => {
        image.src = address;
      },
      () => opener.replaceChildren(file.name),
    );
    return opener;
  });
  return [
    ...(thumbnails.length > 0 ? [h("div", { class: "thumbnails" }, ...thumbnails)] : []),
    ...others.map((file) =>
      button(
        { class: "attached-file", title: locale.t("downloadFile", { name: file.name }) },
        () => void source.download(file).catch(() => source.failed()),
        icon("download"),
        h("span", { class: "attached-name" }, file.name),
        h("small", {}, sizeText(file.size, locale.language)),
      ),
    ),
  ];
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

function sizeText(bytes: number, language: string): string {
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const format = new Intl.NumberFormat(language, {
    style: "unit",
    unit: units[step]!,
    unitDisplay: "short",
    maximumSignificantDigits: 3,
  });
  return format.format(bytes / 1_000 ** step);
}
