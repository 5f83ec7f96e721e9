import { h } from "../../dom.js";
import type { Translate } from "../../texts.js";

/** What can be said of a file: its encoding and its coordinate system. */

export interface Choice {
  /** The control with its label. */
  readonly row: HTMLElement;
  readonly control: HTMLElement;
  /** Undefined = it is found out. */
  readonly value: string | undefined;
  /** Tells what was found out. */
  found(value: string | undefined): void;
}

/** Usual ones, by their names on the web, most used first. */
const encodings = [
  ...["utf-8", "windows-1252", "windows-1251", "windows-1250", "ibm866", "koi8-r", "iso-8859-2"],
  ...["iso-8859-15", "windows-1253", "windows-1254", "macintosh", "utf-16le"],
  ...["gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"],
];

export function encodingChoice(t: Translate, given: string | undefined): Choice {
  const found = h("option", { value: "" }, t("readingFind"));
  const control = h(
    "select",
    { class: "field", id: "reading-encoding" },
    found,
    ...(given === undefined || encodings.includes(given) ? encodings : [given, ...encodings]).map((name) =>
      h("option", { value: name, selected: name === given }, name),
    ),
  );
  return {
    row: h("div", {}, h("label", { for: control.id }, t("readingEncoding")), control),
    control,
    get value() {
      return control.value || undefined;
    },
    found: (value) => {
      found.textContent = value === undefined ? t("readingFind") : t("readingFound", { value });
    },
  };
}

/** Usual ones: their EPSG numbers, and their own names. */
const systems: readonly (readonly [number: number, name: string])[] = [
  [4326, "WGS 84"],
  [3857, "Web Mercator"],
  [4258, "ETRS89"],
  [25831, "ETRS89 / UTM 31N"],
  [25832, "ETRS89 / UTM 32N"],
  [25833, "ETRS89 / UTM 33N"],
  [3035, "ETRS89 / LAEA Europe"],
  [31467, "DHDN / Gauß-Krüger 3"],
  [2154, "RGF93 / Lambert-93"],
  [27700, "OSGB36 / British National Grid"],
  [25830, "ETRS89 / UTM 30N"],
  [28992, "Amersfoort / RD New"],
  [2056, "CH1903+ / LV95"],
  [4284, "Pulkovo 1942"],
  [28407, "Pulkovo 1942 / Gauss-Kruger 7"],
  [32637, "WGS 84 / UTM 37N"],
  [5514, "S-JTSK / Krovak East North"],
  [2180, "ETRF2000-PL / CS92"],
];

export function systemChoice(t: Translate, given: string | undefined): Choice {
  const control = h("input", {
    ...{
      class: "field",
      id: "reading-system",
      list: "reading-systems",
      autocomplete: "off",
      spellcheck: "false",
    },
    ...{ value: given, placeholder: t("readingFind") },
  });
  const list = h(
    "datalist",
    { id: "reading-systems" },
    ...systems.map(([number, name]) => h("option", { value: number }, name)),
  );
  const hint = h("p", { class: "hint", id: "reading-system-hint" }, t("readingSystemHint"));
  control.setAttribute("aria-describedby", hint.id);
  return {
    row: h("div", {}, h("label", { for: control.id }, t("readingSystem")), control, list, hint),
    control,
    get value() {
      return control.value.trim() || undefined;
    },
    found: (value = "EPSG:4326") => {
      // Others than those with a number are long texts.
      control.placeholder = /^EPSG:\d+$/.test(value) ? t("readingFound", { value }) : t("readingFind");
    },
  };
}
