import t from "tap";
import { englishName, nameProperties } from "../../src/demo/town-names.js";

t.test("a town has its English name, with or without translations", async (t) => {
  const named = (country: string, name: string, translated?: string) =>
    englishName({ country, name }, translated);
  t.equal(named("CH", "Luzern"), "Luzern");
  t.equal(named("CH", "Luzern", "Lucerne"), "Lucerne");
  t.equal(named("CH", "Sankt Gallen", "St. Gallen"), "St. Gallen");
  t.equal(named("DE", "Köln"), "Cologne");
  t.equal(named("CH", "Zürich (Kreis 11) / Oerlikon"), "Oerlikon");
  t.equal(named("RU", "Stavropol’", "Stavropol"), "Stavropol", "without signs that few can read");
  t.equal(named("RU", "Kazan", "Kazan’"), "Kazan");
  t.equal(named("EG", "Aswan", "Aswān"), "Aswan");
  t.equal(named("PH", "Davao", "Davao City"), "Davao");
  t.equal(named("CN", "Xiamen", "Amoy"), "Xiamen", "an old name");
  t.equal(named("SD", "Kosti", "Kūstī"), "Kosti");
  t.equal(named("PH", "Kalibo (poblacion)", "Kalibo Town"), "Kalibo (poblacion)");
  t.equal(named("MX", "Palenque", "Palenque/Temp"), "Palenque");
});

t.test("it has a name for each language that calls it otherwise, in its script", async (t) => {
  const names = new Map([
    ["en", "Gomel"],
    ["de", "Homel"],
    ["fr", "Homyel"],
    ["ru", "Gomel’"],
    ["el", "Γκόμελ (Λευκορωσία)"],
    ["uk", "Гомель"],
  ]);
  const properties = (languages: readonly string[]) => nameProperties("Homyel", names, languages);
  t.strictSame(properties(["en", "de", "fr", "ru", "el", "uk", "he"]), {
    name: "Homyel",
    name_de: "Homel",
    name_uk: "Гомель",
  });
  t.strictSame(properties(["en"]), { name: "Homyel" });
  const others = new Map([
    ["fr", "Province de Mantoue"],
    ["de", "Mantova Stadt"],
    ["es", "Mantua"],
    ["it", "Mantova"],
  ]);
  t.strictSame(nameProperties("Mantova", others, [...others.keys()]), { name: "Mantova", name_es: "Mantua" });
  t.strictSame(nameProperties("Bern", new Map([["fr", "Berne"]]), ["fr"]), {
    name: "Bern",
    name_fr: "Berne",
  });
});
