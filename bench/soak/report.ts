import { median } from "../statistics.js";
import type { Audit } from "./ledger.js";
import type { Run } from "./soak.js";
import type { Hold, WatchedProcess } from "./watch.js";

/** What a soak found, as text, and which of its rules are broken. */

export interface Rule {
  readonly name: string;
  readonly isKept: boolean;
  /** What was found. */
  readonly found: string;
  /** It depends on the machine and on what else it does. */
  readonly isTimed: boolean;
}

/** How much slower one in a hundred requests may be beside hostile clients. */
const mostRatio = 3;
/** Longest hold of an event loop. */
const mostHeldMs = 50;
const mostExamples = 5;

/** The rules, those that count first. */
export function rulesOf(runs: readonly Run[]): Rule[] {
  const counted = runs.flatMap((run) => {
    const lost = run.classes.reduce((sum, figures) => sum + figures.lost, 0);
    return [
      rule(`${run.name}: no request is lost`, lost === 0, [`${lost} lost`, ...run.reasons].join("; ")),
      ...run.audits.map((audit, node) =>
        rule(
          `${run.name}: acknowledged writes are there once, as node ${node + 1} lists them`,
          audit !== undefined && audit.lost.length + audit.doubled.length + audit.undone.length === 0,
          audit ? auditText(audit) : "the node could not be asked",
        ),
      ),
    ];
  });
  const [calm, hostile] = runs;
  const ratios = (hostile?.classes ?? []).flatMap(({ name, p99 }) => {
    const ratio = p99 / (calm?.classes.find((one) => one.name === name)?.p99 ?? Number.NaN);
    return [rule(`p99 of ${name} ≤ ${mostRatio} × calm`, ratio <= mostRatio, `${ratio.toFixed(2)} ×`, true)];
  });
  const watched = runs.flatMap(({ name, watched: { processes, heldMs } }) => [
    ...heldMs.map((ms, node) =>
      rule(
        `${name}: event loop of node ${node + 1} never held over ${mostHeldMs} ms`,
        ms <= mostHeldMs,
        `${ms.toFixed(0)} ms`,
        true,
      ),
    ),
    ...processes.flatMap((process) => flatness(name, process)),
  ]);
  return [...counted, ...ratios, ...watched];
}

const rule = (name: string, isKept: boolean, found: string, isTimed = false): Rule => ({
  ...{ name, isKept, found, isTimed },
});

function auditText({ acknowledged, lost, doubled, undone }: Audit): string {
  const some = [...lost, ...doubled, ...undone].slice(0, mostExamples).map((text) => `"${text}"`);
  const counts = `${acknowledged} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${undone.length} undone`;
  return [counts, ...some].join("; ");
}

function flatness(run: string, { name, memory, descriptors }: WatchedProcess): Rule[] {
  const change = (from: number, to: number, unit: string) => `${from.toFixed(0)} → ${to.toFixed(0)}${unit}`;
  return [
    rule(`${run}: memory of ${name} flat`, memory.isFlat, change(memory.first, memory.last, " MiB"), true),
    rule(
      `${run}: descriptors of ${name} flat`,
      descriptors.isFlat,
      change(descriptors.first, descriptors.last, ""),
      true,
    ),
  ];
}

/** Rules that decide about the exit status. */
export const brokenRules = (rules: readonly Rule[], strict: boolean): Rule[] =>
  rules.filter(({ isKept, isTimed }) => !isKept && (strict || !isTimed));

/** The classes of requests of both runs side by side, then what was killed, then the rules. */
export function reportText(runs: readonly Run[]): string {
  const [calm, hostile] = runs;
  const classes = (hostile?.classes ?? []).map((figures) => {
    const before = calm?.classes.find(({ name }) => name === figures.name);
    return [
      figures.name,
      ...(before ? cells(before) : ["", "", "", "", ""]),
      ...cells(figures),
      before ? `${(figures.p99 / before.p99).toFixed(2)} ×` : "",
    ];
  });
  const heads = ["requests", "retries", "lost", "p50 ms", "p99 ms"];
  return [
    columns([
      ["", "calm", "", "", "", "", "hostile", "", "", "", "", ""],
      ["class", ...heads, ...heads, "p99"],
      ...classes,
    ]),
    "",
    ...runs.map(({ name, kills }) => `${name}, killed: ${counts(kills) || "nothing"}`),
    "",
    ...runs.flatMap((run) => (run.bursts.length === 0 ? [] : [columns(holdsByAttack(run)), ""])),
    columns([
      ["rule", "kept", "found"],
      ...rulesOf(runs).map(({ name, isKept, isTimed, found }) => [
        name,
        isKept ? "yes" : isTimed ? "missed" : "NO",
        found,
      ]),
    ]),
  ].join("\n");
}

const cells = ({ requests, retries, lost, p50, p99 }: Run["classes"][number]): string[] => [
  ...[requests, retries, lost].map(String),
  p50.toFixed(1),
  p99.toFixed(0),
];

const counts = (kills: ReadonlyMap<string, number>): string =>
  [...kills].map(([what, times]) => `${what} ${times} ×`).join(", ");

/**
 * How long event loops were held in seconds with an attack, and in those without it. Many go on at a time, so a single long
 * hold is told of all of these; the middle of many tells more.
 */
function holdsByAttack({ bursts, watched: { holds } }: Run): string[][] {
  const names = [...new Set(bursts.map(({ name }) => name))].sort();
  const lines = names.map((name) => {
    const own = bursts.filter((burst) => burst.name === name);
    const isWith = ({ from, to }: Hold) => own.some((burst) => burst.from < to && burst.to > from);
    const ms = [holds.filter(isWith), holds.filter((hold) => !isWith(hold))].map((some) =>
      some.map((hold) => hold.ms),
    );
    return [name, ...ms.flatMap((some) => [middle(some), longest(some)])];
  });
  return [
    ["event loop held, ms", "with it", "", "without it", ""],
    ["attack", "median", "longest", "median", "longest"],
    ...lines,
  ];
}

const middle = (values: readonly number[]): string => (values.length === 0 ? "" : median(values).toFixed(0));
const longest = (values: readonly number[]): string =>
  values.length === 0 ? "" : Math.max(...values).toFixed(0);

function columns(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
