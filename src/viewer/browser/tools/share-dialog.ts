import { h } from "../dom.js";
import type { ToolParts } from "../tool-parts.js";
import { copyRow } from "./copy-row.js";
import { showDialog } from "./dialog.js";

/** The link to what the map shows, and what shows it in a page of others. */

export interface Shared {
  /** The address of this view. */
  readonly link: string;
  /** Name of the map. */
  readonly title: string;
  /** Only a map that everybody may see can be shown in other pages. */
  readonly isPublic: boolean;
}

const sizes = [
  ["600", "400"],
  ["800", "600"],
  ["100%", "480"],
] as const;

export function showShareDialog(parts: ToolParts, { link, title, isPublic }: Shared): void {
  const { t } = parts.locale;
  const address = h("input", { class: "field", readonly: true, value: link, "aria-label": t("shareLink") });
  const snippet = h("textarea", { class: "field", readonly: true, rows: 4, "aria-label": t("embedCode") });
  const size = h(
    "select",
    { class: "field", id: "embed-size" },
    ...sizes.map(([width, height], index) => h("option", { value: index }, `${width} × ${height}`)),
  );
  const write = () => {
    const [width, height] = sizes[Number(size.value)]!;
    snippet.value = embedCode({ link, title, width, height });
  };
  size.addEventListener("change", write);
  write();
  const row = copyRow(parts, address, { label: t("copy"), copied: t("linkCopied") });
  showDialog(
    parts,
    t("share"),
    h("h3", {}, t("shareLink")),
    row,
    h("h3", {}, t("embed")),
    ...(isPublic
      ? [
          h("div", { class: "embed-size" }, h("label", { for: "embed-size" }, t("embedSize")), size),
          copyRow(parts, snippet, { label: t("copy"), copied: t("embedCopied") }),
        ]
      : [h("p", { class: "hint" }, t("embedPrivate"))]),
  );
  row.querySelector("button")?.focus();
}

const escaped = (text: string): string =>
  text.replace(
    /[&<>"]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? sign,
  );

interface Embedded {
  readonly link: string;
  readonly title: string;
  readonly width: string;
  readonly height: string;
}

/** The element of HTML that shows a view of the map in another page. */
export function embedCode({ link, title, width, height }: Embedded): string {
  const { hash } = new URL(link);
  const address = new URL("embed", link);
  address.hash = hash;
  return `<iframe src="${escaped(address.href)}" title="${escaped(title)}" width="${width}" height="${height}" style="border: 0" loading="lazy" allowfullscreen></iframe>`;
}
