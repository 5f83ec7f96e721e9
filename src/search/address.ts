import type { Column } from "../catalog/state.js";

/** Which columns of a layer evidently hold the parts of an address, and what tells objects of one name apart. */

const coded = (words: string): RegExp => new RegExp(`^(addr(ess)?_)?(${words})$`, "i");

const street = coded(
  "street|street_?name|road|road_?name|str|strasse|strassenname|rue|voie|calle|via|ulica|ulitsa",
);
const house = coded("house_?(number|num|no|nr)|street_?(number|no|nr)|haus_?(nummer|nr)|hnr|hsnr|nomer_doma");
/** They number other things, too, where there is no street. */
const houseOfStreet = coded("number|num|no|nr|house|numero|dom");
const postcode = coded(
  "post_?code|postal_?code|zip|zip_?code|plz|postleitzahl|code_?postal|codigo_?postal|pochtovyi_indeks",
);
const city = coded("city|city_?name|town|post_?town|locality|ort|stadt|ville|commune|ciudad|citta|gorod");
const region = coded("country|country_?name|state|province|region|municipality");

/**
 * The column that names objects: the first text that is no mere number of an address. Of columns such as `name_de` and `name_en`
 * that in the language.
 */
export function namingColumn(texts: readonly Column[], language: string): Column | undefined {
  const first = texts.find(({ code }) => !house.test(code) && !postcode.test(code)) ?? texts[0];
  const family = first && /^(.+_)[a-z]{2}$/i.exec(first.code)?.[1];
  const own = `${family}${language}`.toLowerCase();
  return (family && texts.find(({ code }) => code.toLowerCase() === own)) || first;
}

/**
 * What tells objects of one name apart: the parts of an address as they are written, and those of each part.
 * @param columns those whose values can be read
 */
export function detailsOf(columns: readonly Column[], name: Column): Column[][] {
  const first = (code: RegExp): Column | undefined => columns.find((column) => code.test(column.code));
  const road = first(street);
  const parts = [
    [road, first(house) ?? (road && first(houseOfStreet))],
    [first(postcode), first(city)],
    [first(region)],
  ];
  return parts
    .map((part) => part.filter((column): column is Column => column !== undefined && column !== name))
    .filter((part) => part.length > 0);
}
