import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { freePort, running } from "../../bench/caches.js";
import { headingsOf } from "../../src/docs/build/markdown.js";
import { loadPages } from "../../src/docs/pages.js";
import { startServer, waitFor } from "../support/server.js";

/** Alerts and the dashboard: each alert is fired by what it is for and by nothing less, and all they name is on the page of metrics. */

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
const rulesFile = resolve("config/prometheus/alerts.yml");
const { groups } = parse(readFileSync(rulesFile, "utf8")) as { groups: [{ rules: Alert[] }] };
const alerts = groups[0].rules;
interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(readFileSync("config/grafana/mapwright.json", "utf8")) as { panels: Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$instance", ".*") })),
);

const folder = mkdtempSync(join(tmpdir(), "mapwright-alerts-"));
const node = '{job="mapwright",instance="one:8080"}';
const labelled = (labels: string) => `{job="mapwright",instance="one:8080",${labels}}`;

/** A node that is well, in steps of a minute over two hours. What grows is what grows in use. */
const well: Readonly<Record<string, string>> = {
  [`up${node}`]: "1x120",
  [`mapwright_change_log_listening${node}`]: "1x120",
  [`mapwright_redis_ready${node}`]: "1x120",
  [`mapwright_requests_total${labelled('route="tiles",method="GET",status="200"')}`]: "0+600x120",
  [`mapwright_requests_total${labelled('route="tiles",method="GET",status="503"')}`]: "0+6x120",
  [`mapwright_request_seconds_bucket${labelled('le="0.1"')}`]: "0+580x120",
  [`mapwright_request_seconds_bucket${labelled('le="2"')}`]: "0+590x120",
  [`mapwright_request_seconds_bucket${labelled('le="10"')}`]: "0+600x120",
  [`mapwright_request_seconds_bucket${labelled('le="+Inf"')}`]: "0+600x120",
  // Some wait now and then.
  [`mapwright_render_queue${node}`]: "0 3 0 0 9 0 0 0 0 0 0 0 0 0 0 7 0x104",
  [`mapwright_render_refused${node}`]: "4x120",
  [`mapwright_tile_layers_left_out_total${labelled('cause="file"')}`]: "7x120",
  [`mapwright_external_images_total${labelled('host="a.example.org",result="fetched"')}`]: "0+60x120",
  [`mapwright_external_images_total${labelled('host="a.example.org",result="failed"')}`]: "0+1x120",
  [`mapwright_render_host_restarts${node}`]: "0 1 1 2x117",
  [`mapwright_transfer_host_restarts${node}`]: "0 0 1x118",
  [`mapwright_transfer_queue${node}`]: "0 1 1 1 0x116",
  [`mapwright_export_queue${node}`]: "0x120",
  [`mapwright_database_refused_total${labelled('purpose="read"')}`]: "3x120",
  [`mapwright_event_loop_held_max_seconds${node}`]: "0.02 0.3 0.04x118",
  [`mapwright_receiving_memory_refused${node}`]: "1x120",
  [`mapwright_receiving_files_refused${node}`]: "0x120",
  [`mapwright_edge_lag_seconds${node}`]: "0 1 0 20 0x116",
  [`mapwright_files_ready${node}`]: "1 0 1x118",
  [`mapwright_backup_age_seconds${node}`]: "86400+60x120",
};

/** By what each is fired, and the labels that its message then has. */
const fires: Readonly<Record<string, { series: Record<string, string>; labels?: Record<string, string> }>> = {
  MapwrightDown: { series: { [`up${node}`]: "1 1 0x118" } },
  MapwrightAllDown: { series: { [`up${node}`]: "1 1 0x118" }, labels: {} },
  MapwrightChangesNotHeard: { series: { [`mapwright_change_log_listening${node}`]: "1 1 0x118" } },
  MapwrightRedisAway: { series: { [`mapwright_redis_ready${node}`]: "1 1 0x118" } },
  MapwrightErrors: {
    series: {
      [`mapwright_requests_total${labelled('route="tiles",method="GET",status="503"')}`]: "0+60x120",
    },
    labels: {},
  },
  MapwrightSlow: {
    series: {
      [`mapwright_request_seconds_bucket${labelled('le="0.1"')}`]: "0+480x120",
      [`mapwright_request_seconds_bucket${labelled('le="2"')}`]: "0+500x120",
    },
    labels: {},
  },
  MapwrightTilesWait: { series: { [`mapwright_render_queue${node}`]: "0 3x119" } },
  MapwrightDrawingsRefused: { series: { [`mapwright_render_refused${node}`]: "0+1x120" } },
  MapwrightLayersLeftOut: {
    series: { [`mapwright_tile_layers_left_out_total${labelled('cause="file"')}`]: "0+2x120" },
    labels: { cause: "file" },
  },
  MapwrightExternalImagesFail: {
    series: {
      [`mapwright_external_images_total${labelled('host="a.example.org",result="failed"')}`]: "0+90x120",
    },
    labels: { host: "a.example.org" },
  },
  MapwrightProcessesReplaced: { series: { [`mapwright_render_host_restarts${node}`]: "0+1x120" } },
  MapwrightTransfersWait: { series: { [`mapwright_transfer_queue${node}`]: "0 5x119" } },
  MapwrightDatabaseRefuses: {
    series: { [`mapwright_database_refused_total${labelled('purpose="read"')}`]: "0+3x120" },
    labels: { purpose: "read" },
  },
  MapwrightFrontBusy: { series: { [`mapwright_event_loop_held_max_seconds${node}`]: "0.4x120" } },
  MapwrightBodiesRefused: { series: { [`mapwright_receiving_files_refused${node}`]: "0+1x120" } },
  MapwrightEdgeLags: { series: { [`mapwright_edge_lag_seconds${node}`]: "0 0+60x118" }, labels: {} },
  MapwrightFilesAway: { series: { [`mapwright_files_ready${node}`]: "1 0x119" } },
  MapwrightBackupOld: { series: { [`mapwright_backup_age_seconds${node}`]: "130000+60x120" }, labels: {} },
};

const eachAlert = (of: (alert: Alert) => readonly object[]) =>
  alerts.map((alert) => ({
    eval_time: "119m",
    alertname: alert.alert,
    exp_alerts: of(alert),
  }));
const seriesOf = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(([series, values]) => ({ series, values }));

t.test("an installation that is well fires none, and each is fired by its own trouble", async (t) => {
  t.same(
    Object.keys(fires),
    alerts.map(({ alert }) => alert),
    "each has its trouble",
  );
  const troubles = alerts.map((alert) => {
    const { series, labels = { job: "mapwright", instance: "one:8080" } } = fires[alert.alert]!;
    const told = { exp_labels: { ...alert.labels, ...labels }, exp_annotations: alert.annotations };
    return {
      name: alert.alert,
      interval: "1m",
      input_series: seriesOf({ ...well, ...series }),
      alert_rule_test: [{ eval_time: "119m", alertname: alert.alert, exp_alerts: [told] }],
    };
  });
  const healthy = {
    name: "well",
    interval: "1m",
    input_series: seriesOf(well),
    alert_rule_test: eachAlert(() => []),
  };
  const file = join(folder, "tests.yml");
  writeFileSync(
    file,
    JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests: [healthy, ...troubles] }),
  );
  const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
  t.equal(status, 0, stdout + stderr);
});

t.test("each has its part of the page, which says what to do", async (t) => {
  const page = loadPages().find(({ path }) => path === "operating/alerts")!;
  const headings = headingsOf(page.markdown).filter(({ text }) => text.startsWith("Mapwright"));
  t.same(
    alerts.map(({ annotations }) => annotations.runbook_url),
    headings.map(({ id }) => `https://maps.example.org/docs/operating/alerts/#${id}`),
    "in the same order",
  );
  for (const { alert } of alerts) {
    const [, part = ""] =
      new RegExp(`^## ${alert}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, "m").exec(page.markdown) ?? [];
    t.match(part, /\*\*People notice:\*\*/, alert);
    t.match(part, /\*\*Do:\*\*/, alert);
  }
});

/** Metrics that an expression names, with the labels that it asks for. */
const named = (expr: string) =>
  [...expr.matchAll(/\b(mapwright_\w+)(?:\{([^}]*)\})?/g)].map(([, name = "", labels = ""]) => ({
    name,
    labels: [...labels.matchAll(/(\w+)=~?"/g)].map(([, label = ""]) => label),
  }));

t.test("Prometheus reads the page of a node, and all that is asked for is there", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  // What is on the page only after it has happened.
  const { metrics } = server.nodes[0]!.services;
  metrics.leftOut("file");
  metrics.externalImage("a.example.org", "failed");
  metrics.tile("render");
  await fetch(`${server.url}/api/2.8/p/`);

  const port = await freePort();
  const place = mkdtempSync(join(tmpdir(), "mapwright-prometheus-"));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rulesFile],
    scrape_configs: [{ job_name: "mapwright", static_configs: [{ targets: [new URL(server.url).host] }] }],
  };
  writeFileSync(join(place, "prometheus.yml"), JSON.stringify(config));
  const prometheus = await running(
    spawn(
      "prometheus",
      [
        ...[`--config.file=${join(place, "prometheus.yml")}`, `--storage.tsdb.path=${join(place, "data")}`],
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    ),
    port,
    place,
  );
  t.teardown(prometheus.stop);
  const ask = async (path: string): Promise<any> => (await fetch(`${prometheus.url}/api/v1/${path}`)).json();
  const query = (expr: string) => ask(`query?query=${encodeURIComponent(expr)}`);
  // Until then it answers in plain text.
  await waitFor(async () => (await fetch(`${prometheus.url}/-/ready`)).status === 200);
  await waitFor(async () => (await query('up{job="mapwright"} == 1')).data.result.length === 1);

  for (const { title, expr } of [...queries, ...alerts.map(({ alert, expr }) => ({ title: alert, expr }))]) {
    t.equal((await query(expr)).status, "success", `${title}: ${expr}`);
    for (const { name, labels } of named(expr)) {
      const { data } = await query(name);
      t.ok(data.result.length > 0, `${title}: there is ${name}`);
      for (const label of labels)
        t.ok(
          data.result.some(({ metric }: any) => label in metric),
          `${title}: ${name} has ${label}`,
        );
    }
  }
  // By which sums are made.
  for (const [name, label] of [
    ["mapwright_tile_layers_left_out_total", "cause"],
    ["mapwright_external_images_total", "host"],
    ["mapwright_database_refused_total", "purpose"],
    ["mapwright_tiles_total", "source"],
  ] as const)
    t.ok(label in (await query(name)).data.result[0].metric, `${name} has ${label}`);
  await waitFor(async () => {
    const { data } = await ask("rules");
    return data.groups[0].rules.every(({ health }: any) => health === "ok");
  });
  t.pass("it evaluates the rules");
});
