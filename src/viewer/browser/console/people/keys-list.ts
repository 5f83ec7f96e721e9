import { button, h, icon } from "../../dom.js";
import { confirmed } from "../confirmed.js";
import type { Frame, View } from "./frame.js";
import { newKeyView } from "./new-key.js";

/** Keys of programs: what each opens, until when, and when it was used. */

export interface AccessKey {
  readonly id: number;
  readonly name: string;
  readonly rights: "read" | "edit" | "none";
  readonly map: string | null;
  readonly layer: string | null;
  readonly expires: string | null;
  readonly created_by: string;
  readonly used: string | null;
}

const rightsTexts = { read: "keyRead", edit: "keyEdit", none: "keyGone" } as const;

export function keysView(frame: Frame): View {
  const { t, store, parts } = frame;
  const { project } = store.of;
  const { edits, locale } = parts;
  let keys: readonly AccessKey[] | undefined;
  const load = async () => {
    keys = await edits.send<readonly AccessKey[]>(project.code, "GET", ["keys"]);
  };
  void load()
    .catch((error: unknown) => frame.tell(error))
    .finally(() => frame.render());

  const placeOf = ({ map, layer, rights }: AccessKey) => {
    if (rights === "none") return "";
    const name = project.maps.find(({ code }) => code === map)?.name || map;
    return [name ?? t("allMapsRights"), layer].filter((part) => part !== null).join(", ");
  };
  const day = (moment: string) =>
    new Intl.DateTimeFormat(locale.language, { dateStyle: "medium" }).format(new Date(moment));
  const endOf = ({ expires }: AccessKey) => {
    if (expires === null) return t("keyNever");
    return Date.parse(expires) > Date.now() ? day(expires) : t("keyEnded");
  };
  const revoke = async ({ id, name }: AccessKey) => {
    const texts = { title: t("revokeTitle", { name }), text: t("revokeText"), action: t("revoke") };
    if (!(await confirmed(parts, texts))) return;
    const isDone = await frame.work(async () => {
      // Somebody else may have been faster: then it is revoked, too.
      if (keys?.some((key) => key.id === id)) await edits.send(project.code, "DELETE", ["keys", String(id)]);
      await load();
    });
    if (isDone) frame.say(t("keyRevoked", { name }));
  };
  const row = (key: AccessKey) => {
    const label = t("revokeKey", { name: key.name });
    return h(
      "tr",
      { "data-key-name": key.name },
      h("th", { scope: "row" }, key.name, h("small", {}, key.created_by)),
      h("td", { "data-title": t("keyPlace") }, placeOf(key), h("small", {}, t(rightsTexts[key.rights]))),
      h("td", { "data-title": t("keyEnds") }, endOf(key)),
      h("td", { "data-title": t("keyUsed") }, key.used === null ? t("keyUnused") : day(key.used)),
      h(
        "td",
        { class: "people-remove" },
        button(
          { class: "icon-button", "aria-label": label, title: label, "data-key": `revoke-${key.id}` },
          () => void revoke(key),
          icon("trash"),
        ),
      ),
    );
  };

  return {
    tab: "keys",
    render: () => {
      const add = button(
        { class: "button", "data-key": "add" },
        () => frame.go(newKeyView(frame, () => keysView(frame))),
        icon("plus"),
        t("newKey"),
      );
      const columns = ["keyName", "keyPlace", "keyEnds", "keyUsed"] as const;
      return [
        h(
          "div",
          { class: "people-top" },
          h("p", { class: "hint" }, t("keysIntro")),
          ...(store.mayChange ? [add] : []),
        ),
        ...(keys?.length === 0 ? [h("p", { class: "hint" }, t("noKeys"))] : []),
        ...(keys === undefined || keys.length === 0
          ? []
          : [
              h(
                "table",
                { class: "people-table keys-table" },
                h("caption", { class: "visually-hidden" }, t("keysTab")),
                h(
                  "thead",
                  {},
                  h("tr", {}, ...columns.map((one) => h("th", { scope: "col" }, t(one))), h("td", {})),
                ),
                h("tbody", {}, ...keys.map(row)),
              ),
            ]),
      ];
    },
  };
}
