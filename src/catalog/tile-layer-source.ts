import { failed } from "../errors.js";
import { maxZoom } from "../geo/tile.js";
import { checkText } from "./codes.js";
import type { LayerSource } from "./state.js";

/** The source of an external layer: an XYZ, TMS or WMS raster service on a host that the installation allows. */

export type ExternalSource = Extract<LayerSource, { readonly url: string }>;

/** What who gave a source calls its parts. */
export type SourceNames = Readonly<Record<"url" | "minZoom" | "maxZoom" | "attribution", string>>;

const inLayer: SourceNames = {
  url: "source.url",
  minZoom: "source.minZoom",
  maxZoom: "source.maxZoom",
  attribution: "source.attribution",
};

const maxUrlLength = 2_000;
const placeholder = /\{(?:z|x|-?y)\}/g;

/**
 * Reads the `source` of an external layer: an http(s) `url` with `{z}`, `{x}` and `{y}` (XYZ) or `{-y}` (TMS) in its path or
 * query, or with `service=WMS` in its query.
 * @param hosts `host` or `host:port`, in lower case
 * @param names for messages
 * @throws Failure invalid_value with `data.parameter`, required_parameters
 */
export function readExternalSource(
  given: Readonly<Record<string, unknown>>,
  hosts: readonly string[],
  names = inLayer,
): ExternalSource {
  const own = (name: string) => (Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined);
  const url = own("url");
  if (url === undefined || url === "") {
    throw failed("required_parameters", `Required: ${names.url}.`, { required: [names.url] });
  }
  const minZoom = zoom(own("minZoom"), names.minZoom);
  const maxZoom = zoom(own("maxZoom"), names.maxZoom);
  if (minZoom !== null && maxZoom !== null && minZoom > maxZoom)
    throw refuse(names.minZoom, `is greater than ${names.maxZoom}`);
  const attribution = own("attribution") ?? "";
  if (typeof attribution !== "string") throw refuse(names.attribution, "must be a string");
  return {
    url: checkAddress(url, hosts, names.url),
    minZoom,
    maxZoom,
    attribution: checkText(attribution, names.attribution),
  };
}

const refuse = (parameter: string, what: string) =>
  failed("invalid_value", `${parameter} ${what}.`, { parameter });

function zoom(value: unknown, name: string): number | null {
  if (value === undefined || value === "") return null;
  const level = typeof value === "string" ? Number(value) : value;
  if (typeof level === "number" && Number.isInteger(level) && level >= 0 && level <= maxZoom) return level;
  throw refuse(name, `must be a whole number from 0 to ${maxZoom}`);
}

function checkAddress(given: unknown, hosts: readonly string[], name: string): string {
  const wrong = (what: string) => refuse(name, what);
  // URL parsers disagree on spaces and backslashes.
  if (typeof given !== "string" || given.length > maxUrlLength || !/^[\x21-\x5b\x5d-\x7e]+$/.test(given))
    throw wrong(`must be an address of at most ${maxUrlLength} printable ASCII characters`);
  const names = new Set(given.match(placeholder));
  const plain = given.replace(placeholder, "0");
  if (/[{}]/.test(plain)) throw wrong("may hold {z}, {x}, {y} and {-y}, and no other braces");
  let url: URL;
  try {
    url = new URL(plain);
  } catch {
    throw wrong("must be a whole address such as https://tiles.example.org/{z}/{x}/{y}.png");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw wrong("must begin with https:// or http://");
  if (url.username !== "" || url.password !== "") throw wrong("must not hold a user or password");
  // Scheme and host as written: the host must not contain placeholders.
  const origin = /^https?:\/\/[^/?#]*/i.exec(given)?.[0] ?? "";
  if (/[{}]/.test(origin) || !hosts.some((host) => host.toLowerCase() === url.host))
    throw wrong(
      "names a host that is not among the installation's externalHosts. They are set in the server's file of settings, or for it " +
        "by MAPWRIGHT_EXTERNAL_HOSTS, and read when it starts",
    );
  if (names.size === 0) {
    const isWms = [...url.searchParams].some(
      ([name, value]) => /^service$/i.test(name) && /^wms$/i.test(value),
    );
    if (!isWms) throw wrong("needs {z}, {x} and {y}, or service=WMS");
  } else if (!names.has("{z}") || !names.has("{x}") || names.has("{y}") === names.has("{-y}"))
    throw wrong("needs {z}, {x} and one of {y} and {-y}");
  return given;
}
