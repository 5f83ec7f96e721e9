import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "../clock.js";
import type { CompileResponse } from "../hosts/messages.js";
import { BatchedReads } from "../storage/batched-reads.js";
import { readTogether } from "../storage/redis/together.js";
import type { Redis } from "../storage/redis.js";
import type {
  CompiledStyle,
  FaceUse,
  MapProperties,
  PictureUse,
  Rule,
  Style,
  StyleClass,
  StyleClasses,
  Symbolizer,
} from "./model.js";

/** Compiled styles in Redis, by content, so that a node that starts need not compile those of a wide map again. */

export type Compiled = Extract<CompileResponse, { readonly ok: true }>;

export interface CompiledStoreOptions {
  readonly redis: Redis;
  /** Of the installation's keys. */
  readonly prefix: string;
  /** What compiles: others' results are not found. */
  readonly compiler: string;
  readonly clock: Pick<Clock, "turn">;
}

/** What the keys begin with, after the prefix of the installation. */
const compiledKeys = "c:";
const seconds = 7 * 86_400;
/** Styles of 2,000 rules take a third of it; larger ones are compiled by each node. */
const mostCharacters = 1024 ** 2;
const maxKeys = 32;
const digestLength = 43;

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

export class CompiledStore {
  private readonly reads: BatchedReads<string, Buffer | null>;
  private readonly prefix: string;

  constructor(private readonly options: CompiledStoreOptions) {
    const { redis, prefix, compiler, clock } = options;
    this.prefix = `${prefix}${compiledKeys}${compiler}:`;
    this.reads = new BatchedReads({
      read: (keys) => readTogether(redis, keys),
      maxKeys,
      turn: () => clock.turn(),
    });
  }

  /** What was stored under the key; undefined when there is nothing, it is damaged, or Redis fails. */
  async get(key: string): Promise<Compiled | undefined> {
    if (this.options.redis.status !== "ready") return undefined;
    try {
      const value = await this.reads.get(this.prefix + key);
      return value ? decode(value.toString()) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Stores it in the background. */
  put(key: string, { style, map }: Compiled): void {
    const { redis } = this.options;
    if (redis.status !== "ready") return;
    const text = JSON.stringify({ style, map });
    if (text.length > mostCharacters) return;
    redis.set(this.prefix + key, digestOf(text) + text, "EX", seconds).catch(() => undefined);
  }
}

/**
 * Of the code that compiles styles: it changes with every file that takes part, and with the versions of packages.
 * @throws Error when a file cannot be read
 */
export function compilerDigest(): string {
  compiler ??= digestFiles();
  return compiler;
}

let compiler: string | undefined;

function digestFiles(): string {
  const folders = [new URL("./", import.meta.url), new URL("../../workers/render/", import.meta.url)];
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".js"))
      .sort()
      .map((name) => new URL(name, folder)),
  );
  files.push(new URL("../../../package.json", import.meta.url));
  return digestOf(files.map((file) => readFileSync(file, "utf8")).join("\0")).slice(0, 16);
}

/** @throws SyntaxError */
function decode(value: string): Compiled | undefined {
  const text = value.slice(digestLength);
  if (text.length > mostCharacters || digestOf(text) !== value.slice(0, digestLength)) return undefined;
  const { style, map } = JSON.parse(text) as { readonly style?: unknown; readonly map?: unknown };
  return isStyle(style) && isMap(map) ? { ok: true, style, map } : undefined;
}

type Fields<T> = { readonly [Key in keyof T]?: unknown };

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isListOf =
  <T>(isOne: (value: unknown) => value is T) =>
  (value: unknown): value is T[] =>
    Array.isArray(value) && value.every(isOne);
const isAbsentOr = (value: unknown, isOne: (value: unknown) => boolean): boolean =>
  value === undefined || isOne(value);
const isNumber = (value: unknown): value is number => typeof value === "number";
const isTexts = isListOf(isText);
const isNumbers = isListOf(isNumber);
const isAttributes = (value: unknown): boolean => isObject(value) && Object.values(value).every(isText);

function isMap(value: unknown): value is MapProperties {
  return isObject(value) && isAbsentOr((value as Fields<MapProperties>).backgroundColor, isText);
}

function isStyle(value: unknown): value is CompiledStyle {
  if (!isObject(value)) return false;
  const { styles, fields, bufferPixels, pictures, pictureFields, labelFields, faces, notices, classes } =
    value as Fields<CompiledStyle>;
  return (
    isListOf(isNamedStyle)(styles) &&
    isTexts(fields) &&
    isNumber(bufferPixels) &&
    isAbsentOr(pictures, isListOf(isPictureUse)) &&
    isAbsentOr(faces, isListOf(isFaceUse)) &&
    isAbsentOr(pictureFields, isTexts) &&
    isAbsentOr(labelFields, isTexts) &&
    isAbsentOr(notices, isTexts) &&
    isAbsentOr(classes, areClasses)
  );
}

function areClasses(value: unknown): value is StyleClasses {
  if (!isObject(value)) return false;
  const { classes, more } = value as Fields<StyleClasses>;
  return isListOf(isClass)(classes) && isNumber(more);
}

function isClass(value: unknown): value is StyleClass {
  if (!isObject(value)) return false;
  const { filter, drawn, colors, hasPicture, values, geometryType, zooms } = value as Fields<StyleClass>;
  return (
    isAbsentOr(filter, isText) &&
    isListOf(isNumbers)(drawn) &&
    isAttributes(colors) &&
    typeof hasPicture === "boolean" &&
    isListOf(Array.isArray)(values) &&
    isAbsentOr(geometryType, isNumber) &&
    isAbsentOr(zooms, isNumbers)
  );
}

function isPictureUse(value: unknown): value is PictureUse {
  if (!isObject(value)) return false;
  const { name, place, patternGrowth } = value as Fields<PictureUse>;
  return isText(name) && isText(place) && isNumber(patternGrowth);
}

function isFaceUse(value: unknown): value is FaceUse {
  if (!isObject(value)) return false;
  const { names, place, instead } = value as Fields<FaceUse>;
  return isTexts(names) && isText(place) && isAbsentOr(instead, isText);
}

function isNamedStyle(value: unknown): value is Style {
  if (!isObject(value)) return false;
  const { name, attributes, rules } = value as Fields<Style>;
  return isText(name) && isAttributes(attributes) && isListOf(isRule)(rules);
}

function isRule(value: unknown): value is Rule {
  if (!isObject(value)) return false;
  const { filter, minScaleDenominator, maxScaleDenominator, symbolizers } = value as Fields<Rule>;
  return (
    isAbsentOr(filter, isText) &&
    isAbsentOr(minScaleDenominator, isNumber) &&
    isAbsentOr(maxScaleDenominator, isNumber) &&
    isListOf(isSymbolizer)(symbolizers)
  );
}

function isSymbolizer(value: unknown): value is Symbolizer {
  if (!isObject(value)) return false;
  const { type, attributes, text, picture, faces, stops } = value as Fields<Symbolizer>;
  return (
    isText(type) &&
    isAttributes(attributes) &&
    isAbsentOr(text, isText) &&
    isAbsentOr(picture, isText) &&
    isAbsentOr(faces, isTexts) &&
    isAbsentOr(stops, isListOf(isObject))
  );
}
