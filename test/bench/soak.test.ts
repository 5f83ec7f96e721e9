import t from "tap";
import { growth } from "../../bench/soak/flat.js";
import { Ledger } from "../../bench/soak/ledger.js";
import { parseSoakOptions } from "../../bench/soak/options.js";
import { brokenRules, reportText, rulesOf } from "../../bench/soak/report.js";
import { soak } from "../../bench/soak/soak.js";

t.setTimeout(900_000);

t.test("a leak is told from garbage and from a warm-up", (t) => {
  const rule = { share: 0.1, least: 32 };
  const values = (of: (second: number) => number) => Array.from({ length: 120 }, (_, second) => of(second));
  const peaks = (second: number) => (second % 7) * 50;
  t.match(growth(values(peaks), rule), { isFlat: true }, "peaks");
  t.match(
    growth(
      values((second) => Math.min(300, second * 10) + peaks(second)),
      rule,
    ),
    { isFlat: true },
    "a warm-up",
  );
  t.match(
    growth(
      values((second) => 200 + second + peaks(second)),
      rule,
    ),
    { isFlat: false },
    "a leak",
  );
  t.match(
    growth(
      values((second) => 200 + (second < 100 ? 0 : 100)),
      rule,
    ),
    { isFlat: true },
    "one step, such as a cache that fills",
  );
  t.equal(growth([1, 2, 3], rule), undefined, "too few to tell");
  t.end();
});

t.test("the ledger tells what is lost, there twice, and there in spite of its deletion", (t) => {
  const ledger = new Ledger();
  ledger.added(["a", "b", "c"]);
  ledger.replaced("b", "d");
  ledger.removed("c");
  ledger.unknown(["e", "f"]);
  t.match(ledger.audit(["a", "d", "f"]), { acknowledged: 3, lost: [], doubled: [], undone: [] });
  t.match(ledger.audit(["a", "a", "b", "c", "f", "f", "z"]), {
    lost: ["d"],
    doubled: ["a", "f"],
    undone: ["b", "c", "z"],
  });
  t.end();
});

t.test("options are numbers that make sense", (t) => {
  t.match(parseSoakOptions(["--seconds", "30", "--strict"]), { seconds: 30, seed: 1, strict: true });
  t.throws(() => parseSoakOptions(["--seconds", "a while"]), TypeError);
  t.throws(() => parseSoakOptions(["--hours", "1"]), TypeError);
  t.end();
});

t.test("nobody loses anything while hosts and PostgreSQL are killed, hostile clients or not", async (t) => {
  const runs = await soak({
    ...{ seconds: 10, every: 5, seed: 1, clients: 1, only: [], verbose: false },
    ...{ places: 500, warmUpSeconds: 1, progress: (text: string) => t.comment(text) },
  });
  t.comment(reportText(runs));
  t.same(brokenRules(rulesOf(runs), false), []);
  for (const { classes, kills, audits } of runs) {
    t.ok(classes.some(({ name, requests }) => name === "create" && requests > 0));
    t.ok(kills.has("PostgreSQL"), "PostgreSQL was killed");
    for (const audit of audits) t.ok(audit && audit.acknowledged > 0);
  }
});
