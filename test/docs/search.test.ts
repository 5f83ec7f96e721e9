import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import MiniSearch from "minisearch";
import t from "tap";
import { findPages, type Part, searchOptions } from "../../src/docs/search.js";

/** Questions in the words of people who have never seen the product, and the page that answers each. */

const questions: readonly (readonly [question: string, page: string])[] = [
  ["how do I make my first map", "tutorials/first-map"],
  ["map from an excel sheet with colours by value", "tutorials/thematic-map"],
  ["show the map on my own website", "tutorials/live-map"],
  ["leaflet", "tutorials/live-map"],
  ["change the colour of a layer", "how-to/restyle"],
  ["restyle", "how-to/restyle"],
  ["make the lines thicker", "how-to/restyle"],
  ["hide a layer when zoomed out", "how-to/restyle"],
  ["show names on the map", "how-to/labels"],
  ["hide a layer", "how-to/arrange-layers"],
  ["make a layer private", "how-to/users-and-rights"],
  ["make a folder", "how-to/arrange-layers"],
  ["token expired", "reference/api-session"],
  ["draw on the map", "how-to/edit-objects"],
  ["copy a map", "how-to/copy-a-map"],
  ["put one layer on top of another", "how-to/arrange-layers"],
  ["group layers in folders", "how-to/arrange-layers"],
  ["add a column", "how-to/add-a-column"],
  ["new field in the attribute table", "how-to/add-a-column"],
  ["filter objects by value", "how-to/filter-objects"],
  ["bounding box of one object", "how-to/box-of-an-object"],
  ["extent of a feature", "how-to/box-of-an-object"],
  ["attach a photo", "how-to/photos"],
  ["upload images to objects", "how-to/photos"],
  ["import a shapefile", "how-to/import-files"],
  ["upload geojson", "how-to/import-files"],
  ["wrong encoding strange letters after import", "how-to/import-files"],
  ["download data as excel", "how-to/export-data"],
  ["import from postgis", "how-to/import-files"],
  ["SLD", "how-to/restyle"],
  ["WFS", "how-to/private-maps-in-other-programs"],
  ["open the map in QGIS", "how-to/private-maps-in-other-programs"],
  ["GetFeatureInfo", "how-to/filter-objects"],
  ["workspace", "tutorials/first-map"],
  ["datastore", "how-to/import-files"],
  ["reproject", "how-to/export-data"],
  ["GeoWebCache", "how-to/offline-tiles"],
  ["heatmap", "reference/visualizations"],
  ["points are in the wrong place after import", "how-to/import-files"],
  ["draw a polygon by hand", "how-to/edit-objects"],
  ["wfs", "how-to/private-maps-in-other-programs"],
  ["largest import", "how-to/limits"],
  ["maximum file size", "how-to/limits"],
  ["how big can an upload be", "how-to/limits"],
  ["how many layers can a map have", "how-to/limits"],
  ["private map in QGIS", "how-to/private-maps-in-other-programs"],
  ["add a user", "how-to/users-and-rights"],
  ["who may edit a layer", "how-to/users-and-rights"],
  ["reset a password", "how-to/users-and-rights"],
  ["orthophoto geotiff layer", "how-to/raster-layers"],
  ["use openstreetmap tiles as a layer", "how-to/external-layers"],
  ["view of a layer with a condition", "how-to/derived-layers"],
  ["what does the search box look through", "how-to/search-settings"],
  ["map in several languages", "how-to/translate-names"],
  ["embed with an iframe", "how-to/embed-a-map"],
  ["mbtiles for use without internet", "how-to/offline-tiles"],
  ["single sign-on jwt", "how-to/sign-in-by-another-service"],
  ["delete a map", "how-to/delete-and-clean-up"],
  ["edit many objects at once", "how-to/edit-objects"],
  ["mapwright help filter", "how-to/filter-objects"],
  ["nginx", "operating/behind-a-proxy"],
  ["https certificate nginx", "operating/behind-a-proxy"],
  ["TLS", "operating/behind-a-proxy"],
  ["start at boot", "operating/systemd"],
  ["backup", "operating/backup"],
  ["restore a backup", "operating/restore"],
  ["pg_restore errors", "operating/restore"],
  ["upgrade to a new version", "operating/upgrade"],
  ["move to another server", "operating/move-to-another-machine"],
  ["disk is full", "operating/disk-use"],
  ["use an existing postgres database", "operating/database-elsewhere"],
  ["run on several machines", "operating/several-nodes"],
  ["cloudflare", "operating/cdn"],
  ["prometheus metrics", "operating/health-and-metrics"],
  ["one client slows down all others", "operating/fair-shares"],
  ["load test", "operating/load-tests"],
  ["tiles are grey", "operating/troubleshooting"],
  ["502 bad gateway", "operating/troubleshooting"],
  ["why is a tile never out of date", "explanation/never-stale"],
  ["change the port", "reference/settings"],
  ["what does invalid_style mean", "reference/errors"],
];

const site = join(dirname(fileURLToPath(import.meta.url)), "../../src/docs/site");
const index = MiniSearch.loadJSON<Part>(readFileSync(join(site, "files/search.json"), "utf8"), searchOptions);

t.test("nine of ten questions find their page among the first three", async (t) => {
  t.ok(questions.length >= 50);
  const lost = questions.flatMap(([question, page]) => {
    const found = findPages(index, question, 3).map(({ address }) => address.replace(/#.*/, ""));
    return found.includes(page) ? [] : [`${question}: ${found.join(", ")}, not ${page}`];
  });
  for (const line of lost) t.comment(line);
  t.ok(lost.length <= questions.length / 10, `${lost.length} of ${questions.length} are not found`, { lost });
});

t.test("the page that does something comes before those that only name it", async (t) => {
  for (const [question, page, other] of [
    ["nginx", "operating/behind-a-proxy", "operating/cdn"],
    ["mapwright help filter", "how-to/filter-objects", "reference/filter-language"],
  ] as const) {
    const found = findPages(index, question).map(({ address }) => address.replace(/#.*/, ""));
    t.equal(found[0], page, question);
    t.ok(found.includes(other), `${question}: ${other} is found, too`);
  }
  t.not(findPages(index, "mapwright").length, 0, "the name alone");
});

t.test("words are found in their other forms", async (t) => {
  const first = (question: string) =>
    findPages(index, question, 3).map(({ address }) => address.replace(/#.*/, ""));
  t.ok(first("restyling").includes("how-to/restyle"));
  t.ok(first("backups").includes("operating/backup"));
  t.ok(first("trubleshooting").includes("operating/troubleshooting"), "with a mistake");
  t.same(first("zzzzqqq"), []);
});
