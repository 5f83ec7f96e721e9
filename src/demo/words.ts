import type { LocalizedName } from "../catalog/state.js";

/** The words of the demo, in the languages of the viewer. */

export const languages = ["en", "ru", "de", "fr", "es"] as const;

export type Language = (typeof languages)[number];
export type Words = Readonly<Record<Language, string>>;

export const named = (names: Words): LocalizedName => ({ name: "", localized: true, names });

export const titles = {
  world: { en: "World", ru: "Мир", de: "Welt", fr: "Monde", es: "Mundo" },
  draft: { en: "Draft", ru: "Черновик", de: "Entwurf", fr: "Brouillon", es: "Borrador" },
  countries: { en: "Countries", ru: "Страны", de: "Länder", fr: "Pays", es: "Países" },
  cities: { en: "Cities", ru: "Города", de: "Städte", fr: "Villes", es: "Ciudades" },
  islands: {
    en: "Island states",
    ru: "Островные государства",
    de: "Inselstaaten",
    fr: "États insulaires",
    es: "Estados insulares",
  },
  name: { en: "Name", ru: "Название", de: "Name", fr: "Nom", es: "Nombre" },
  iso: { en: "Country code", ru: "Код страны", de: "Ländercode", fr: "Code du pays", es: "Código del país" },
  area: { en: "Area", ru: "Площадь", de: "Fläche", fr: "Superficie", es: "Superficie" },
  tint: { en: "Tint", ru: "Оттенок", de: "Farbton", fr: "Teinte", es: "Tono" },
  country: { en: "Country", ru: "Страна", de: "Land", fr: "Pays", es: "País" },
  kind: { en: "Kind", ru: "Вид", de: "Art", fr: "Type", es: "Tipo" },
  capital: { en: "Capital", ru: "Столица", de: "Hauptstadt", fr: "Capitale", es: "Capital" },
  part: { en: "Part of a town", ru: "Часть города", de: "Stadtteil", fr: "Quartier", es: "Barrio" },
  population: { en: "Population", ru: "Население", de: "Einwohner", fr: "Population", es: "Población" },
  rank: {
    en: "Shown from zoom",
    ru: "Показан с масштаба",
    de: "Sichtbar ab Zoomstufe",
    fr: "Visible à partir du zoom",
    es: "Visible desde el zoom",
  },
  english: {
    en: "English name",
    ru: "Английское название",
    de: "Englischer Name",
    fr: "Nom anglais",
    es: "Nombre inglés",
  },
  otherNames: {
    en: "Other names",
    ru: "Другие названия",
    de: "Andere Namen",
    fr: "Autres noms",
    es: "Otros nombres",
  },
} satisfies Readonly<Record<string, Words>>;

export const areaUnit: Words = { en: " km²", ru: " км²", de: " km²", fr: " km²", es: " km²" };

/** What a town is, by GeoNames' feature code. */
const kinds: Readonly<Record<string, Words>> = {
  PPLC: { en: "capital", ru: "столица", de: "Hauptstadt", fr: "capitale", es: "capital" },
  PPLA: {
    en: "seat of a region",
    ru: "центр региона",
    de: "Hauptort einer Region",
    fr: "chef-lieu de région",
    es: "capital regional",
  },
  PPLX: { en: "part of a town", ru: "часть города", de: "Stadtteil", fr: "quartier", es: "barrio" },
};
const town: Words = { en: "town", ru: "город", de: "Stadt", fr: "ville", es: "ciudad" };

export const kindOf = (feature: string): Words => kinds[feature] ?? town;
