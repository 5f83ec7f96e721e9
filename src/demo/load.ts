import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { addMember } from "../access/accounts.js";
import { setOperator } from "../access/operators.js";
import type { NewColumn } from "../catalog/columns.js";
import { createLayer } from "../catalog/layers.js";
import { createMap, setPublication } from "../catalog/maps.js";
import { createProject } from "../catalog/projects.js";
import type { BaseMap, LocalizedName, Role } from "../catalog/state.js";
import { type SearchSetting, saveSettings } from "../search/settings.js";
import { cities } from "./cities.js";
import { importRows, type LoadDependencies, row } from "./features.js";
import { exclusively } from "./lock.js";
import { listed, otherNamesFor } from "./other-names.js";
import { nameProperties } from "./town-names.js";
import { areaUnit, kindOf, type Language, languages, named, titles } from "./words.js";
import { countries, regionName } from "./world.js";

/** The demo project of an empty installation: a map of the world, an unpublished draft, and three users. */

export interface DemoAccount {
  readonly login: string;
  readonly password: string;
}

type Progress = (text: string) => void;

const projectCode = "demo";
const roles: readonly Role[] = ["admin", "editor", "viewer"];

const style = (name: string): string => readFileSync(new URL(`./${name}.mss`, import.meta.url), "utf8");

/**
 * Loads the demo when the installation has no project. While it loads the project is hidden, so that nobody sees
 * half of it; the rest of an interrupted load is replaced.
 * @returns the new users with their passwords, which are kept nowhere else; none when there was nothing to do
 */
export async function loadDemo(deps: LoadDependencies, progress: Progress): Promise<DemoAccount[]> {
  return exclusively(deps, "demo", async () => {
    const { db } = deps;
    const [present] = await db.query("select 1 from project where not hidden limit 1");
    if (present) return [];
    await db.execute("delete from project where code = $1", [projectCode]);
    const project = await createProject(db, { code: projectCode, name: "Mapwright demo", languages });
    // The demo has names of its own.
    await db.execute("update project set hidden = true, base_map = $2 where id = $1", [
      project,
      JSON.stringify({ kind: "builtin", style: "muted" } satisfies BaseMap),
    ]);
    await loadWorld(deps, project, progress);
    await loadDraft(deps, project, progress);
    const accounts = await addUsers(deps, project);
    await db.execute("update project set hidden = false where id = $1", [project]);
    return accounts;
  });
}

async function loadWorld(deps: LoadDependencies, project: number, progress: Progress): Promise<void> {
  const { db } = deps;
  const map = await createMap(db, project, {
    code: "world",
    name: named(titles.world),
    json: { attribution: "Natural Earth, GeoNames" },
  });
  const layer = async (code: string, name: LocalizedName, viewer: Readonly<Record<string, unknown>>) =>
    (
      await createLayer(db, map, {
        code,
        name,
        cssStyle: style(code),
        columns: columnsOf(code),
        json: { viewer },
      })
    ).id;
  // From the top of the tree to its bottom.
  // Labels of countries keep clear of towns, which are drawn before.
  // The tints tell neighbours apart and mean nothing else.
  const countryLayer = await layer("countries", named(titles.countries), {
    legend: false,
    columns: ["name", "iso", "area"],
  });
  const cityLayer = await layer("cities", named(titles.cities), {
    // Names in thirty languages are found, and not read.
    columns: ["name", "country", "kind", "population"],
  });

  progress("Loading the demo: countries …");
  await loadCountries(deps, countryLayer, countries("10m"));

  progress("Loading the demo: 135 000 cities …");
  await importRows(
    deps,
    { layerId: cityLayer, language: "en" },
    cities(otherNamesFor(deps))
      .slice(0, deps.demoTowns)
      .map(({ name, listedAs, translations, country, feature, population, rank, geometry }) =>
        row(
          {
            ...nameProperties(name, translations, languages),
            ...inLanguages("country", (language) => regionName(language, country) ?? country),
            ...inLanguages("kind", (language) => kindOf(feature)[language]),
            ...{ capital: feature === "PPLC", part: feature === "PPLX", population, rank },
            english: name,
            other_names: listed([listedAs, ...translations.values()], name),
          },
          geometry,
        ),
      ),
  );
  await setSearch(deps, map, [countryLayer, cityLayer]);
}

/** Kinds and countries of towns are no names of theirs. */
async function setSearch({ db }: LoadDependencies, map: number, layers: readonly number[]): Promise<void> {
  const columns = await db.query<{ id: number; layer: number; code: string }>(
    "select id, layer_id as layer, code from layer_column where layer_id = any($1)",
    [layers],
  );
  const settings = layers.flatMap((layerId): SearchSetting[] => {
    const column = (wanted: string) =>
      columns.find(({ layer, code }) => layer === layerId && code === wanted)?.id ?? null;
    const name = column("name")!;
    return [column("english") ?? name, column("other_names") ?? []].flat().map((searched) => ({
      ...{ layerId, searchColumnId: searched, nameColumnId: name, priority: null },
      weightColumnId: column("population"),
      detailColumnId: column("country"),
    }));
  });
  await saveSettings(db, map, settings);
}

/** Columns with their titles; an import finds them by their codes. */
const columnsOf = (code: string): NewColumn[] => {
  if (code === "countries") {
    return [
      { code: "name", type: "string", localizedValue: true, name: named(titles.name) },
      { code: "iso", type: "string", name: named(titles.iso) },
      {
        ...{ code: "area", type: "number", name: named(titles.area) },
        format: { kind: "number", decimals: 0, grouping: true, suffix: areaUnit },
      },
      { code: "tint", type: "number", name: named(titles.tint) },
    ];
  }
  if (code !== "cities") return [];
  return [
    { code: "name", type: "string", localizedValue: true, name: named(titles.name) },
    { code: "country", type: "string", localizedValue: true, name: named(titles.country) },
    { code: "kind", type: "string", localizedValue: true, name: named(titles.kind) },
    // For the style, which is the same in all languages.
    { code: "capital", type: "bool", name: named(titles.capital) },
    { code: "part", type: "bool", name: named(titles.part) },
    {
      ...{ code: "population", type: "number", name: named(titles.population) },
      format: { kind: "number", decimals: 0, grouping: true },
    },
    { code: "rank", type: "number", name: named(titles.rank) },
    // Searched for the name: values in one language are looked through much faster.
    { code: "english", type: "string", name: named(titles.english) },
    { code: "other_names", type: "string", name: named(titles.otherNames) },
  ];
};

/** Properties of an import into a localised column: `country` is in English, the main language. */
const inLanguages = (code: string, text: (language: Language) => string): Record<string, string> =>
  Object.fromEntries(
    languages.map((language) => [language === "en" ? code : `${code}_${language}`, text(language)]),
  );

const loadCountries = (
  deps: LoadDependencies,
  layerId: number,
  list: ReturnType<typeof countries>,
): Promise<unknown> =>
  importRows(
    deps,
    { layerId, language: "en" },
    list.map(({ name, iso, squareKilometres, tint, geometry }) =>
      row(
        {
          // The atlas' names are short, those of territories without a code are all there is.
          ...inLanguages("name", (language) =>
            language === "en" ? name : ((iso && regionName(language, iso)) ?? name),
          ),
          ...{ iso: iso ?? null, area: squareKilometres, tint },
        },
        geometry,
      ),
    ),
  );

async function loadDraft(deps: LoadDependencies, project: number, progress: Progress): Promise<void> {
  const { db } = deps;
  progress("Loading the demo: the draft …");
  const map = await createMap(db, project, { code: "draft", name: named(titles.draft) });
  await setPublication(db, project, "draft", false);
  const { id } = await createLayer(db, map, {
    code: "islands",
    name: named(titles.islands),
    cssStyle: style("islands"),
    columns: columnsOf("countries"),
  });
  const near = new Set(borderless());
  await loadCountries(
    deps,
    id,
    countries("50m").filter((country) => country.iso !== undefined && near.has(country.iso)),
  );
}

/** Some states whose only neighbour is the sea. */
const borderless = (): string[] => ["AU", "NZ", "JP", "PH", "LK", "MG", "IS", "CU", "FJ", "MT", "CY", "JM"];

async function addUsers(deps: LoadDependencies, projectId: number): Promise<DemoAccount[]> {
  const accounts: DemoAccount[] = [];
  for (const role of roles) {
    const password = newPassword();
    const { id, created } = await addMember(deps.db, { login: role, password, projectId, role });
    // An existing user keeps the password.
    if (!created) continue;
    accounts.push({ login: role, password });
    // Who starts the server for the first time is shown the password, and runs it.
    if (role === "admin") await setOperator(deps.db, id, true);
  }
  return accounts;
}

/** Letters and digits that look different from each other; about 70 bits. */
function newPassword(): string {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  return Array.from({ length: 14 }, () => letters[randomInt(letters.length)]).join("");
}
