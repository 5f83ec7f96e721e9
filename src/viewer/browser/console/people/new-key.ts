import { h } from "../../dom.js";
import { copyLines } from "./copy-lines.js";
import { endOfDay } from "./end-of-day.js";
import type { Frame, View } from "./frame.js";
import type { LayerName } from "./people-store.js";

/** Makes a key, and shows it once, with what programs do with it. */

interface Made {
  readonly key: string;
  readonly name: string;
  readonly rights: "read" | "edit";
  readonly map: string | null;
  readonly layer: string | null;
}

export function newKeyView(frame: Frame, back: () => View): View {
  const { t, store, parts } = frame;
  const { project } = store.of;
  const option = (value: string, text: string) => h("option", { value }, text);
  const name = h("input", {
    class: "field",
    id: "key-name",
    maxlength: 200,
    required: true,
    autocomplete: "off",
  });
  const map = h(
    "select",
    { class: "field", id: "key-map" },
    option("", t("allMapsRights")),
    ...project.maps.map(({ code, name }) => option(code, name || code)),
  );
  const layer = h("select", { class: "field", "aria-label": t("layerOfMap"), hidden: true });
  const showLayers = (found: readonly LayerName[]) => {
    layer.replaceChildren(
      option("", t("allLayersRights")),
      ...found.map(({ code, name }) => option(code, name)),
    );
    layer.hidden = map.value === "";
  };
  map.addEventListener("change", () => {
    const asked = map.value;
    showLayers([]);
    if (asked === "") return;
    store.layers(asked).then(
      (found) => {
        if (map.value === asked) showLayers(found);
      },
      (error: unknown) => frame.tell(error),
    );
  });
  const rights = h(
    "select",
    { class: "field", id: "key-rights" },
    option("read", t("keyRead")),
    option("edit", t("keyEdit")),
  );
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const ends = h("input", {
    ...{ class: "field", id: "key-ends", type: "date", min: tomorrow, "aria-describedby": "key-ends-hint" },
  });
  const submit = h("button", { type: "submit", class: "button main" }, t("makeKey"));
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h(
    "form",
    { class: "people-form", novalidate: true },
    h("label", { for: "key-name" }, t("keyName")),
    name,
    h("label", { for: "key-map" }, t("keyPlace")),
    h("div", { class: "people-place" }, map, layer),
    h("label", { for: "key-rights" }, t("rights")),
    rights,
    h("label", { for: "key-ends" }, t("keyEnds")),
    ends,
    h("p", { class: "hint", id: "key-ends-hint" }, t("keyEndsHint")),
    problem,
    h("div", { class: "dialog-actions" }, submit),
  );
  const make = async () => {
    if (name.value.trim() === "") {
      problem.textContent = t("fillIn");
      name.focus();
      return;
    }
    problem.textContent = "";
    submit.disabled = true;
    let made: Made | undefined;
    const body = {
      name: name.value.trim(),
      rights: rights.value,
      ...(map.value !== "" && { map: map.value }),
      ...(map.value !== "" && layer.value !== "" && { layer: layer.value }),
      ...(ends.value !== "" && { expires: endOfDay(ends.value) }),
    };
    await frame.work(async () => {
      made = await parts.edits.send<Made>(project.code, "POST", ["keys"], { body });
    });
    submit.disabled = false;
    if (made) frame.go(madeView(frame, made, back));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!submit.disabled) void make();
  });
  // Made once: what is written in it stays.
  return { tab: "keys", title: t("newKey"), back, render: () => [form] };
}

function madeView(frame: Frame, made: Made, back: () => View): View {
  const { t, store } = frame;
  const { code: project, maps } = store.of.project;
  const { key, rights } = made;
  // Of a key for all maps the first one is an example.
  const map = made.map ?? maps[0]?.code;
  const base = new URL("./", document.baseURI).href;
  const part = (title: string, text: string, isMain = false) => [
    h("h4", {}, title),
    copyLines(frame, { text, label: title, rows: text.length > 120 ? 3 : 2, isMain }),
  ];
  const at = [project, map].map((code) => encodeURIComponent(code ?? "")).join("/");
  const tiles = `${base}tms/${at}/{z}/{x}/{y}.png?key=${key}`;
  const layer = made.layer === null ? "LAYER" : encodeURIComponent(made.layer);
  const objects = `${base}api/2.8/${at}/layers/${layer}/export/?format=geojson`;
  const lists = `${base}api/2.8/${at}/layers/`;
  const shown = [
    h("p", {}, t("keyMade")),
    copyLines(frame, { text: key, label: made.name, rows: 1 }),
    // A key that may edit stands in no address.
    ...(map !== undefined && rights === "read" ? part(t("keyInQgis"), tiles) : []),
    ...(map === undefined
      ? []
      : [
          ...part(t("keyInOgr"), `GDAL_HTTP_HEADERS="X-Token: ${key}" ogr2ogr objects.gpkg "${objects}"`),
          ...part(t("keyInScripts"), `curl -H "X-Token: ${key}" "${lists}"`),
        ]),
  ];
  return { tab: "keys", title: made.name, back, render: () => shown };
}
