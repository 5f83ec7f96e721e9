import { button, h, icon } from "../../dom.js";
import { sizeText } from "../../size-text.js";
import { type BinEntry, purge, readBin, restore } from "../bin.js";
import { confirmed } from "../confirmed.js";
import type { Frame, View } from "./frame.js";
import { thingTexts } from "./things.js";

/** What was deleted: it is brought back, or deleted for good. */

/** Entries of a page. */
const page = 100;

export function binView(frame: Frame): View {
  const { t, edits, of, parts } = frame;
  const { code: project } = of.project;
  const { language } = parts.locale;
  let entries: readonly BinEntry[] | undefined;
  let bytes = 0;
  let hasMore = false;
  const read = async (before?: number) => {
    const bin = await readBin(edits, project, { limit: page, before });
    entries = before === undefined ? bin.entries : [...(entries ?? []), ...bin.entries];
    bytes = bin.bytes;
    hasMore = bin.entries.length === page;
  };
  void read()
    .catch((error: unknown) => frame.tell(error))
    .finally(() => frame.render());

  const bringBack = async (entry: BinEntry) => {
    let said = "";
    const isDone = await frame.work(async () => {
      const { code, notes } = await restore(edits, project, entry);
      const name = titleOf(entry);
      said = [
        code === entry.code ? t("restoredName", { name }) : t("restoredAs", { name, code }),
        ...notes,
      ].join(" ");
      await read();
    }, null);
    // Also what went wrong may have been done.
    frame.changed();
    if (isDone) frame.say(said);
  };
  const remove = async (entry: BinEntry) => {
    const name = titleOf(entry);
    const texts = { title: t("purgeTitle", { name }), text: t("purgeText"), action: t("delete") };
    if (!(await confirmed(parts, texts))) return;
    await frame.work(async () => {
      await purge(edits, project, entry.id);
      await read();
    }, "purged");
  };
  const empty = async () => {
    const texts = { title: t("emptyBinTitle"), text: t("emptyBinText"), action: t("emptyBin") };
    if (!(await confirmed(parts, texts))) return;
    await frame.work(async () => {
      await edits.send(project, "DELETE", ["bin"]);
      await read();
    }, "purged");
  };

  const row = (entry: BinEntry) => {
    const { id, kind, map, layer } = entry;
    const name = titleOf(entry);
    const place = kind === "map" ? [] : [map, ...(layer === null ? [] : [layer])];
    return h(
      "tr",
      { "data-entry": id },
      h("th", { scope: "row" }, name, h("small", {}, [t(thingTexts[kind]), ...place].join(" · "))),
      h(
        "td",
        { "data-title": t("whenDeleted") },
        frame.timeText(entry.deleted),
        entry.deleted_by !== "" && h("small", {}, entry.deleted_by),
      ),
      h("td", { "data-title": t("keptUntil") }, frame.timeText(entry.until)),
      h("td", { "data-title": t("diskUse") }, sizeText(entry.bytes, language)),
      h(
        "td",
        { class: "past-actions" },
        button(
          { class: "button", "data-key": `restore-${id}`, "aria-label": t("restoreName", { name }) },
          () => void bringBack(entry),
          t("restore"),
        ),
        button(
          {
            ...{ class: "icon-button", "data-key": `purge-${id}` },
            ...{ "aria-label": t("purgeName", { name }), title: t("purgeName", { name }) },
          },
          () => void remove(entry),
          icon("trash"),
        ),
      ),
    );
  };

  return {
    tab: "bin",
    render: () => {
      if (!entries) return [h("p", { class: "hint" }, t("isChecking"))];
      if (entries.length === 0) return [h("p", { class: "hint" }, t("binIntro")), h("p", {}, t("binEmpty"))];
      const columns = ["what", "whenDeleted", "keptUntil", "diskUse"] as const;
      return [
        h(
          "div",
          { class: "people-top" },
          h("p", { class: "hint" }, t("binIntro"), " ", t("binTakes", { size: sizeText(bytes, language) })),
          of.mayAdminister &&
            button({ class: "button", "data-key": "empty" }, () => void empty(), t("emptyBin")),
        ),
        h(
          "table",
          { class: "people-table past-table" },
          h("caption", { class: "visually-hidden" }, t("binTab")),
          h(
            "thead",
            {},
            h("tr", {}, ...columns.map((key) => h("th", { scope: "col" }, t(key))), h("td", {})),
          ),
          h("tbody", {}, ...entries.map(row)),
        ),
        ...(hasMore
          ? [
              button(
                { class: "button", "data-key": "more" },
                () => void frame.work(() => read(entries!.at(-1)!.id), null),
                t("showMore"),
              ),
            ]
          : []),
      ];
    },
  };
}

const titleOf = ({ name, code }: BinEntry): string => name || code;
