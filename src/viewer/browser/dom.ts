/** Creates DOM elements. Strings become text nodes, never HTML. */

type Child = Node | string | undefined | false;

export interface Attributes {
  readonly class?: string;
  /** Attributes by name; undefined and false are left out, true becomes an empty attribute. */
  readonly [name: string]: string | number | boolean | undefined;
}

/** Creates an HTML element with attributes and children. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== undefined && child !== false),
  );
  return element;
}

/** Creates a button with a click handler. */
export function button(
  attributes: Attributes,
  onClick: (event: MouseEvent) => void,
  ...children: readonly Child[]
) {
  const element = h("button", { type: "button", ...attributes }, ...children);
  element.addEventListener("click", onClick);
  return element;
}

const shapes = {
  layers: "M12 3 3 8l9 5 9-5-9-5Z|m3 12.5 9 5 9-5|m3 17 9 5 9-5",
  chevron: "m9 6 6 6-6 6",
  chevronLeft: "m15 6-6 6 6 6",
  back: "M19 12H5|m11 6-6 6 6 6",
  close: "M6 6l12 12|M18 6 6 18",
  plus: "M12 5v14|M5 12h14",
  minus: "M5 12h14",
  locate: "M12 2v4|M12 18v4|M2 12h4|M18 12h4|M12 18a6 6 0 1 0 0-12 6 6 0 0 0 0 12Z|M12 12h.01",
  fullScreen: "M4 9V4h5|M15 4h5v5|M20 15v5h-5|M9 20H4v-5",
  leaveFullScreen: "M9 4v5H4|M20 9h-5V4|M15 20v-5h5|M4 15h5v5",
  share: "M12 15V4|m8 8 4-4 4 4|M5 13v5a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2v-5",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z|M4.5 20.5c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5",
  people:
    "M9 11.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7Z|M2.500 19.500c.7-3.200 3.300-5 6.500-5s5.800 1.800 6.500 5|M16 5a3.500 3.500 0 0 1 0 6.500|M17.500 14.800c2 .6 3.500 2.200 4 4.700",
  target:
    "M4 8V5a1 1 0 0 1 1-1h3|M16 4h3a1 1 0 0 1 1 1v3|M20 16v3a1 1 0 0 1-1 1h-3|M8 20H5a1 1 0 0 1-1-1v-3|M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
  folder: "M3 7a2 2 0 0 1 2-2h4l2 2.500h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7Z",
  lock: "M6 11h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1Z|M8 11V8a4 4 0 0 1 8 0v3",
  check: "m5 12.5 4.5 4.500L19 7.5",
  copy: "M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1Z|M16 9V5a1 1 0 0 0-1-1H5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h3",
  paste:
    "M9 5H6a1 1 0 0 0-1 1v13a1 1 0 0 0 1 1h12a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1h-3|M9 3.500h6v3H9Z|M9 12h6|M9 16h4",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Z|M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
  eyeOff:
    "M10.6 5.700A9.600 9.600 0 0 1 12 5.500C18 5.500 21.500 12 21.500 12a17.500 17.500 0 0 1-2.700 3.500M6.300 7A17 17 0 0 0 2.500 12S6 18.500 12 18.500a9 9 0 0 0 5.600-2|m4 4 16 16",
  map: "m9 4-6 3v13l6-3 6 3 6-3V4l-6 3-6-3Z|M9 4v13|M15 7v13",
  alert: "M12 8v5|M12 16.500h.01|M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  help: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400|M12 17.500h.01|M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Z|m20 20-4-4",
  ruler: "M3.5 16.500 16.500 3.500l4 4-13 13-4-4Z|m7 13 2 2|m10 10 2 2|m13 7 2 2",
  bookmark: "M6 4h12a1 1 0 0 1 1 1v15l-7-4-7 4V5a1 1 0 0 1 1-1Z",
  pencil: "m4 20 1-4L16 5l3 3L8 19l-4 1Z",
  split:
    "M6 8.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5Z|M6 20.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5Z|m8 7.500 12 10|m8 16.500 12-10",
  merge: "M4 4h10v10H4Z|M10 10h10v10H10Z",
  trash: "M4 7h16|M9 7V4h6v3|m6 7 1 13h10l1-13|M10 11v5|M14 11v5",
  chart: "M4 20h16|M7 20v-7|M12 20V5|M17 20v-10",
  open: "M14 4h6v6|M20 4l-9 9|M19 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1h5",
  more: "M5 12h.01|M12 12h.01|M19 12h.01",
  table:
    "M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1Z|M3 10h18|M3 14.500h18|M10 10v9",
  download: "M12 4v11|m8 11 4 4 4-4|M5 17v1a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2v-1",
  panel: "M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1Z|M10 4v16",
  print:
    "M7 8V4h10v4|M7 17H5a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2h14a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2h-2|M7 14h10v6H7z",
  grip: "M9 6h.01|M9 12h.01|M9 18h.01|M15 6h.01|M15 12h.01|M15 18h.01",
  arrowUp: "M12 19V5|m6 11 6-6 6 6",
  arrowDown: "M12 5v14|m6 13 6 6 6-6",
  undo: "M8 4 3.500 8.500 8 13|M3.5 8.500H14a5.500 5.500 0 0 1 0 11h-3",
  redo: "m16 4 4.500 4.500L16 13|M20.5 8.500H10a5.500 5.500 0 0 0 0 11h3",
  upload: "M12 15V4|m8 8 4-4 4 4|M5 17v1a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2v-1",
  brush: "M9 15 19 4l1 1-10 11|M9 15c-3 0-3 3-5 4 2 1.500 6 1 6-3Z",
  globe:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z|M3 12h18|M12 3c2.5 2.7 3.7 5.7 3.7 9s-1.2 6.3-3.7 9c-2.5-2.7-3.7-5.7-3.7-9S9.5 5.7 12 3Z",
} as const;
export type IconName = keyof typeof shapes;

/** Creates an SVG icon of 24 × 24 units in the current text colour. */
export function icon(name: IconName): SVGSVGElement {
  const svg = s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" });
  for (const d of shapes[name].split("|")) svg.append(s("path", { d }));
  return svg;
}

/** Creates an SVG element. */
export function s<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
