/** What a town is called on maps, of the names that GeoNames has for it. */

/**
 * Large towns that GeoNames lists by their own names, which are not the English ones, and those whose English name in its
 * translations is an old or a rare one.
 */
const english: Readonly<Record<string, string>> = {
  ...{ "AF Mazār-e Sharīf": "Mazar-i-Sharif", "AO Namibe": "Namibe", "BE Antwerpen": "Antwerp" },
  ...{ "BE Brugge": "Bruges", "BE Gent": "Ghent", "BG Ruse": "Ruse", "BG Svishtov": "Svishtov" },
  ...{
    "CH Genève": "Geneva",
    "CH Zürich": "Zurich",
    "CL Puerto Montt": "Puerto Montt",
    "CN Anqing": "Anqing",
  },
  ...{ "CN Hami": "Hami", "CN Xiamen": "Xiamen", "CN Xiangyang": "Xiangyang" },
  ...{ "DE Frankfurt am Main": "Frankfurt", "DE Gießen": "Gießen", "DE Hannover": "Hanover" },
  ...{ "DE Köln": "Cologne", "DE Lübbenau": "Lübbenau", "DE Nürnberg": "Nuremberg", "DZ Chlef": "Chlef" },
  ...{ "DZ Tamanrasset": "Tamanrasset", "ES Sevilla": "Seville", "ET Hawassa": "Hawassa" },
  ...{ "GB Derry": "Derry", "GE Sokhumi": "Sukhumi", "IN Panaji": "Panaji" },
  ...{ "IN Thiruvananthapuram": "Thiruvananthapuram", "IR Sanandaj": "Sanandaj", "MM Pyay": "Pyay" },
  ...{ "MX Juárez": "Ciudad Juárez", "MX Mazatlan": "Mazatlan", "MX Santiago de Querétaro": "Querétaro" },
  ...{ "MX Tuxtepec": "Tuxtepec", "MX Tuxtla": "Tuxtla Gutiérrez", "MY Teluk Intan": "Teluk Intan" },
  ...{ "PK Bahawalnagar": "Bahawalnagar", "RU Nizhniy Novgorod": "Nizhny Novgorod" },
  ...{ "RU Rossosh’": "Rossosh", "RU Rostov-na-Donu": "Rostov-on-Don", "SA Mecca": "Mecca" },
  ...{ "SD El Fasher": "El Fasher", "SD El Obeid": "El Obeid", "SE Göteborg": "Gothenburg" },
  ...{ "SE Malmö": "Malmö", "SE Växjö": "Växjö", "SY Ar Raqqah": "Raqqa", "SY Deir ez-Zor": "Deir ez-Zor" },
  ...{
    "TG Kpalimé": "Kpalimé",
    "TJ Qŭrghonteppa": "Bokhtar",
    "TR Ayvalık": "Ayvalık",
    "TR Ereğli": "Ereğli",
  },
  ...{ "TR Keşan": "Keşan", "TR Nusaybin": "Nusaybin", "TR Silivri": "Silivri", "TR Silvan": "Silvan" },
  ...{ "TR İznik": "İznik", "TR Üsküdar": "Üsküdar", "UA Khmelnytskyi": "Khmelnytskyi" },
  ...{ "UA Zaporizhia": "Zaporizhzhia", "US St. Louis": "St. Louis" },
};

/** What the list calls a town. */
export interface Listed {
  readonly name: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

/** The English name. @param translated what the translations have; they lack most small towns */
export function englishName({ name, country }: Listed, translated: string | undefined): string {
  const known = english[`${country} ${name}`];
  if (known !== undefined) return known;
  // Of parts of Swiss towns GeoNames has the town too: "Zürich (Kreis 11) / Oerlikon".
  const own = country === "CH" ? name.replace(/^.* \/ /, "") : name;
  return translated !== undefined && isBetter(translated, own) ? translated : own;
}

/** Whether a translation is another name than the listed one, or the same with fewer signs: "Kazan’" is not. */
function isBetter(translated: string, own: string): boolean {
  if (!isPlain(translated) || isAddition(translated, own)) return false;
  const fewer = marksOf(own) - marksOf(translated);
  return fewer > 0 || (fewer === 0 && lettersOf(translated) !== lettersOf(own));
}

/** Whether it is the name with more words: "Davao City", "Kota Taipei". */
const isAddition = (translated: string, name: string): boolean => wordsOf(translated).includes(wordsOf(name));

/** With spaces around each word. */
const wordsOf = (name: string): string => ` ${name.replaceAll("-", " ")} `;

/** Small letters without accents and signs. */
const lettersOf = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/[^\p{L}]/gu, "")
    .toLowerCase();

/** How many letters are none of English, or signs. */
const marksOf = (name: string): number => name.replace(/[a-z .-]/gi, "").length;

/** Explanations and second names are for lists, and what a town is the seat of is no town. */
const isPlain = (name: string): boolean =>
  !/^\s|[(),،/:;]|^(Com+un|Distr|Gmina|Munic|Pr[eé]f|Provin)\S* |\b(County|District|Province|Town)$/.test(
    name,
  );

const scripts = new Map<string, RegExp>();

/** Whether a name is of the script of the language: some are transcriptions for those who cannot read it. */
function isWrittenIn(language: string, name: string): boolean {
  let script = scripts.get(language);
  if (!script) {
    script = new RegExp(`\\p{Script=${new Intl.Locale(language).maximize().script}}`, "u");
    scripts.set(language, script);
  }
  return script.test(name);
}

/**
 * Names of a town as properties of an import into a localised column `name`: `name` in English, and `name_de` and so on
 * where they are others.
 */
export function nameProperties(
  name: string,
  translations: ReadonlyMap<string, string>,
  languages: readonly string[],
): Record<string, string> {
  const properties: Record<string, string> = { name };
  for (const language of languages) {
    const other = language === "en" ? undefined : translations.get(language);
    if (other !== undefined && isPlain(other) && !isAddition(other, name) && isWrittenIn(language, other))
      properties[`name_${language}`] = other;
  }
  return properties;
}
