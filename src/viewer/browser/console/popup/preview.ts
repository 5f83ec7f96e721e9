import { type AttachmentSource, attachmentList } from "../../attachments.js";
import { attributeRows, attributeTable, type Locale, objectTitle } from "../../attributes.js";
import { h } from "../../dom.js";
import type { ColumnInfo, ObjectItem } from "../../map-server.js";
import type { Popup } from "./settings.js";

/** One object as readers would see it. */

export interface Previewed {
  readonly layerTitle: string;
  readonly columns: readonly ColumnInfo[];
  readonly object: ObjectItem;
  /** In which language names are preferred. */
  readonly dataLanguage: string;
  /** Of the object. */
  readonly files: AttachmentSource;
}

export function previewOf(of: Previewed, { title, columns: codes }: Popup, locale: Locale): readonly Node[] {
  const { object, columns } = of;
  const gallery = h("div", { class: "gallery" });
  const rows = attributeRows(object, columns, locale, {
    codes,
    filesOf: (ids) => attachmentList(ids, of.files, locale, gallery),
  });
  const read = { ...locale, language: of.dataLanguage };
  return [
    h("h4", {}, objectTitle(object, columns, read, title)),
    h("p", { class: "object-layer" }, of.layerTitle),
    gallery,
    attributeTable(rows) ?? h("p", { class: "hint" }, locale.t("noAttributes")),
  ];
}
