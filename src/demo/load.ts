import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { addMember } from "../access/accounts.js";
import type { NewColumn } from "../catalog/columns.js";
import { createLayer } from "../catalog/layers.js";
import { createMap, setPublication } from "../catalog/maps.js";
import { createProject } from "../catalog/projects.js";
import type { BaseMap, LocalizedName, Role } from "../catalog/state.js";
import { type SearchSetting, saveSettings } from "../search/settings.js";
import { cities } from "./cities.js";
import { importRows, type LoadDependencies, row } from "./features.js";
import { exclusively } from "./lock.js";
import { listed, readOtherNames } from "./other-names.js";
import { countries, regionName } from "./world.js";

/** The demo project of an empty installation: a map of the world, an unpublished draft, and three users. */

export interface DemoAccount {
  readonly login: string;
  readonly password: string;
}

type Progress = (text: string) => void;

const projectCode = "demo";
const languages = ["en", "ru"];
const roles: readonly Role[] = ["admin", "editor", "viewer"];

const style = (name: string): string => readFileSync(new URL(`./${name}.mss`, import.meta.url), "utf8");
const named = (en: string, ru: string): LocalizedName => ({ name: "", localized: true, names: { en, ru } });

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
    name: named("World", "Мир"),
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
  const countryLayer = await layer("countries", named("Countries", "Страны"), {
    legend: false,
    columns: ["name", "iso", "area"],
  });
  const cityLayer = await layer("cities", named("Cities", "Города"), {
    // Names in thirty languages are found, and not read.
    columns: ["name", "country", "feature", "population"],
  });

  progress("Loading the demo: countries …");
  await loadCountries(deps, countryLayer, countries("10m"));

  progress("Loading the demo: 135 000 cities …");
  const otherNames = readOtherNames((path, error) =>
    deps.log.warn({ err: error, path }, "names of cities in a language could not be read"),
  );
  await importRows(
    deps,
    { layerId: cityLayer, language: "en" },
    cities().map(({ id, listedAs, geometry, ...city }) =>
      row(
        {
          ...city,
          country: regionName("en", city.country) ?? city.country,
          feature: kindOf(city.feature),
          other_names: listed([listedAs, ...(otherNames.get(id) ?? [])], city.name),
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
    return [name, column("other_names") ?? []].flat().map((searched) => ({
      ...{ layerId, searchColumnId: searched, nameColumnId: name, priority: null },
      weightColumnId: column("population"),
      detailColumnId: column("country"),
    }));
  });
  await saveSettings(db, map, settings);
}

/** What a town is, in words. */
const kindOf = (feature: string): string =>
  ({ PPLC: "capital", PPLA: "seat of a region", PPLX: "part of a town" })[feature] ?? "town";

/** Columns with their titles; an import finds them by their codes. */
const columnsOf = (code: string): NewColumn[] => {
  if (code === "countries") {
    return [
      { code: "name", type: "string", localizedValue: true, name: named("Name", "Название") },
      { code: "iso", type: "string", name: named("Country code", "Код страны") },
      {
        ...{ code: "area", type: "number", name: named("Area", "Площадь") },
        format: { kind: "number", decimals: 0, grouping: true, suffix: { en: " km²", ru: " км²" } },
      },
      { code: "tint", type: "number", name: named("Tint", "Оттенок") },
    ];
  }
  if (code !== "cities") return [];
  return [
    { code: "name", type: "string", name: named("Name", "Название") },
    { code: "country", type: "string", name: named("Country", "Страна") },
    { code: "feature", type: "string", name: named("Kind", "Вид") },
    {
      ...{ code: "population", type: "number", name: named("Population", "Население") },
      format: { kind: "number", decimals: 0, grouping: true },
    },
    { code: "rank", type: "number", name: named("Shown from zoom", "Показан с масштаба") },
    { code: "other_names", type: "string", name: named("Other names", "Другие названия") },
  ];
};

/** Names come in two imports, one a language; the second finds its objects by their ids. */
async function loadCountries(
  deps: LoadDependencies,
  layerId: number,
  list: ReturnType<typeof countries>,
): Promise<void> {
  const rows = list.map(({ names, iso, squareKilometres, tint, geometry }, index) =>
    row({ svc_id: index + 1, name: names.en, iso: iso ?? null, area: squareKilometres, tint }, geometry),
  );
  await importRows(deps, { layerId, language: "en" }, rows);
  await importRows(
    deps,
    { layerId, language: "ru" },
    list.map(({ names }, index) => row({ svc_id: index + 1, name: names.ru })),
  );
}

async function loadDraft(deps: LoadDependencies, project: number, progress: Progress): Promise<void> {
  const { db } = deps;
  progress("Loading the demo: the draft …");
  const map = await createMap(db, project, { code: "draft", name: named("Draft", "Черновик") });
  await setPublication(db, project, "draft", false);
  const { id } = await createLayer(db, map, {
    code: "islands",
    name: named("Island states", "Островные государства"),
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
    const { created } = await addMember(deps.db, { login: role, password, projectId, role });
    // An existing user keeps the password.
    if (created) accounts.push({ login: role, password });
  }
  return accounts;
}

/** Letters and digits that look different from each other; about 70 bits. */
function newPassword(): string {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  return Array.from({ length: 14 }, () => letters[randomInt(letters.length)]).join("");
}
