import { button, h, icon } from "../dom.js";
import type { ToolParts } from "../tool-parts.js";
import { showDialog } from "./dialog.js";

/** Views that this browser remembers: map, place, layers, under a name. */

interface Bookmark {
  readonly name: string;
  /** Fragment of the address, with its #. */
  readonly address: string;
}

const storageKey = "mapwright.bookmarks";
const maxBookmarks = 50;
const maxName = 80;

export interface BookmarkEvents {
  /** Fragment of the address of what is shown now. */
  readonly address: string;
  /** A name for it. */
  readonly title: string;
  open(address: string): void;
}

/** What is stored; undefined = the browser does not store anything. */
function read(): Bookmark[] | undefined {
  let stored: unknown;
  try {
    const text = localStorage.getItem(storageKey);
    // Some browsers let themselves be asked, but not be told.
    localStorage.setItem(storageKey, text ?? "[]");
    stored = JSON.parse(text ?? "[]");
  } catch (error) {
    if (!(error instanceof SyntaxError)) return undefined;
  }
  if (!Array.isArray(stored)) return [];
  return stored
    .filter(
      (one): one is Bookmark =>
        typeof one?.name === "string" && typeof one.address === "string" && one.address.startsWith("#"),
    )
    .slice(0, maxBookmarks);
}

export function showBookmarks(parts: ToolParts, events: BookmarkEvents): void {
  const { t } = parts.locale;
  const known = read();
  if (!known) {
    showDialog(parts, t("bookmarks"), h("p", { class: "hint" }, t("bookmarksDisabled")));
    return;
  }
  let bookmarks = known;
  const list = h("ul", { class: "bookmarks" });
  const full = h("p", { class: "hint", hidden: true }, t("bookmarksFull", { n: maxBookmarks }));
  const name = h("input", {
    class: "field",
    value: events.title,
    maxlength: maxName,
    required: true,
    "aria-label": t("bookmarkName"),
  });
  const add = h("button", { class: "button main", type: "submit" }, icon("plus"), t("addBookmark"));
  const form = h("form", { class: "copy-row" }, name, add);
  const keep = (changed: Bookmark[]): boolean => {
    try {
      localStorage.setItem(storageKey, JSON.stringify(changed));
    } catch {
      parts.toasts.show(t("bookmarksDisabled"), "bad");
      return false;
    }
    bookmarks = changed;
    draw();
    return true;
  };
  const item = (bookmark: Bookmark, index: number): HTMLElement => {
    const remove = t("deleteBookmark", { name: bookmark.name });
    const rename = t("renameBookmark", { name: bookmark.name });
    const row = h(
      "li",
      {},
      button(
        { class: "hit" },
        () => {
          dialog.close();
          events.open(bookmark.address);
        },
        h("span", {}, bookmark.name),
      ),
      button(
        { class: "icon-button", "aria-label": rename, title: rename },
        () => edit(row, bookmark, index),
        icon("pencil"),
      ),
      button(
        { class: "icon-button", "aria-label": remove, title: remove },
        () => {
          keep(bookmarks.filter((_, at) => at !== index));
          (list.querySelectorAll("button")[0] ?? name).focus();
        },
        icon("trash"),
      ),
    );
    return row;
  };
  const edit = (row: HTMLElement, bookmark: Bookmark, index: number) => {
    const field = h("input", {
      class: "field",
      value: bookmark.name,
      maxlength: maxName,
      "aria-label": t("bookmarkName"),
    });
    const end = (isKept: boolean) => {
      const text = field.value.trim();
      if (isKept && text) keep(bookmarks.map((one, at) => (at === index ? { ...one, name: text } : one)));
      else draw();
      list.children[index]?.querySelector("button")?.focus();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter");
    });
    row.replaceChildren(
      field,
      button(
        { class: "icon-button", "aria-label": t("save"), title: t("save") },
        () => end(true),
        icon("check"),
      ),
    );
    field.select();
  };
  const draw = () => {
    list.replaceChildren(...bookmarks.map(item));
    const isFull = bookmarks.length >= maxBookmarks;
    full.hidden = !isFull;
    add.disabled = isFull;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = name.value.trim();
    if (text && keep([{ name: text, address: events.address }, ...bookmarks]))
      parts.toasts.show(t("bookmarkAdded"), "good");
  });
  const dialog = showDialog(
    parts,
    t("bookmarks"),
    form,
    full,
    list,
    h("p", { class: "hint" }, t("bookmarksHint")),
  );
  draw();
  name.select();
}
