import type { GeometryKind } from "../geo/wkb.js";
import { type DefaultLook, defaultStyle, hueOf } from "./default-style.js";

/** Whether a style is a default one, as this version writes it or an earlier one wrote it. */

/** How a default style of the kind looks; undefined when it is none, or somebody has changed it. */
export function readDefault(css: string, kind: GeometryKind): DefaultLook | undefined {
  const [, fromZoom] = /^#layer::names\[zoom>=(\d+)\]/m.exec(css) ?? [];
  const [, column] = /text-name: \[(.+)\];/.exec(css) ?? [];
  const steps = [...css.matchAll(/^#layer::names\d+\[zoom>=\d+\]\[(.+)>=(.+)\] \{$/gm)].toReversed();
  const importance = steps[0] && { column: steps[0][1]!, least: steps.map(([, , least]) => Number(least)) };
  const label =
    fromZoom === undefined || column === undefined
      ? undefined
      : { column, fromZoom: +fromZoom, ...(importance && { importance }) };
  const hue = hueOf(css);
  const [, first] = /\[zoom<(\d+)\]/.exec(css) ?? [];
  // Where there is room at all zooms, the first rule for zooms below some is another one, or there is none.
  const rooms = [undefined, 0, ...(first === undefined ? [] : [+first])];
  return rooms
    .flatMap((room) => [false, true].map((dense) => ({ hue, dense, room, label })))
    .find((look) => versions(defaultStyle(kind, look), look).includes(css));
}

type Replacement = readonly [of: string | RegExp, by: string | ((...found: string[]) => string)];

/** The style as each version wrote it, the newest first. */
function versions(css: string, look: DefaultLook): string[] {
  const all = [css];
  for (const step of backwards(look))
    all.push(
      step.reduce((text, [of, by]) => text.replaceAll(of, by as (...found: string[]) => string), all.at(-1)!),
    );
  return all;
}

const namesOverPoints = /\n *\[zoom<\d+\] \{ marker-ignore-placement: true; \}/g;

/**
 * What makes of a style the one of the version before, step by step. A change of the default style adds the first step: what was written
 * before is known by it.
 */
function backwards({ hue, dense, room, label }: DefaultLook): readonly (readonly Replacement[])[] {
  const afterRoom: readonly (readonly Replacement[])[] = [
    [[/\n *text-wrap-before: true;/g, ""]],
    [
      [/\n *\[zoom<\d+\] \{ text-margin: 20; \}/g, ""],
      [
        /(\n *\[zoom<)(\d+)(\] \{ marker-width: 2; .*)/g,
        (_, rule, zoom, rest) => (+zoom! > 1 ? `${rule}${+zoom! - 1}${rest}` : ""),
      ],
    ],
  ];
  // Before the room was measured, symbols had one of two sizes.
  if (room !== undefined) return afterRoom;
  return [
    ...afterRoom,
    [[/\n *text-margin: 3;/g, ""], ...oneSize, ...(dense ? small : [])],
    dense ? [] : [[namesOverPoints, ""]],
    [[/\n *text-repeat-distance: 100;/g, ""]],
    hue === undefined && !dense && !label ? blue : [],
  ];
}

const oneSize: readonly Replacement[] = [
  [/\n *\[zoom<5\] \{ line-width: 0.3; \}/g, ""],
  [/\n *\[zoom<[87]\] \{ line-width: 0.[64]; \}/g, ""],
  ["[zoom<9] { line-width: 1; }", "[zoom<5] { line-width: 1; }"],
];

const small: readonly Replacement[] = [
  [" marker-width: 8;", " marker-width: 5;"],
  [" marker-line-width: 1;", " marker-line-width: 0.5;"],
  ["[zoom<10] { marker-width: 6; }", "[zoom<13] { marker-width: 3; marker-line-width: 0; }"],
  [
    "[zoom<5] { marker-width: 5; marker-line-width: 0.75; }",
    "[zoom<8] { marker-width: 2; marker-line-width: 0; }",
  ],
  ["[zoom<7] { line-width: 0.8; }", "[zoom<13] { line-width: 0.3; }"],
  [" line-width: 1.2;", " line-width: 0.8;"],
  [" line-width: 2;", " line-width: 1.2;"],
  ["[zoom<10] { line-width: 1.5; }", "[zoom<13] { line-width: 0.6; }"],
  ["[zoom<5] { line-width: 1; }", "[zoom<9] { line-width: 0.4; }"],
];

/** All layers were blue, and as large at all zooms. */
const blue: readonly Replacement[] = [
  [/\n *\[zoom<.*/g, ""],
  [/#\w{6}(?=;\n *line-width: 1.2;)/g, "#1f5690"],
  [/#(?!1f5690|ffffff)\w{6}/g, "#2a6fbb"],
  [" marker-width: 8;", " marker-width: 7;"],
  [" polygon-opacity: 0.25;", " polygon-opacity: 0.35;"],
  [" line-width: 1.2;", " line-width: 1;"],
  [" line-width: 2;", " line-width: 1.5;"],
];
