import t from "tap";
import { preferred, prefersJson } from "../../src/http/accept.js";

const types = ["application/json", "application/geo+json", "text/csv"] as const;

t.test("the media type that is wanted most is chosen, else the first", async (t) => {
  for (const [accept, chosen] of [
    [undefined, "application/json"],
    ["", "application/json"],
    ["*/*", "application/json"],
    ["text/csv", "text/csv"],
    ["TEXT/CSV; header=present", "text/csv"],
    ["text/csv, */*", "text/csv"],
    ["text/*", "text/csv"],
    ["application/*", "application/json"],
    ["text/csv;q=0.5, application/geo+json;q=0.8", "application/geo+json"],
    ["application/json;q=0.2, text/csv;q=0.3", "text/csv"],
    ["application/geo+json, application/json", "application/json"],
    ["application/json;q=0, */*", "application/geo+json"],
    ["text/csv;q=0, text/*", "application/json"],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"],
    ["image/png", "application/json"],
    ["nonsense,,/;q=x, text/csv;q=.", "application/json"],
    [`${"a/b,".repeat(5_000)}text/csv`, "application/json"],
  ] as const) {
    t.equal(preferred(accept, types), chosen, String(accept).slice(0, 60));
  }
});

t.test("JSON is preferred to HTML where it is wanted more, or named", async (t) => {
  for (const accept of [
    "application/json",
    "application/problem+json",
    "application/geo+json",
    "application/json, text/plain, */*",
    "text/html;q=0.1, application/problem+json",
    "application/*",
  ])
    t.ok(prefersJson(accept), accept);
  for (const accept of [
    undefined,
    "*/*",
    "text/html",
    "text/csv",
    "text/html, application/json",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/json;q=0",
    "application/json;q=0.5, text/html",
    "image/avif,image/webp,*/*;q=0.8",
  ])
    t.notOk(prefersJson(accept), String(accept));
});
