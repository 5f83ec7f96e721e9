import t from "tap";
import { type Cluster, type ClusterFiles, Clusters, SwitchableProxy } from "../support/clusters.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, type TestServer, waitFor } from "../support/server.js";

/** Another database takes the place of the one that nodes and Redis remember: nothing of its lost future is shown. */

// Three clusters are made, with two nodes each.
t.setTimeout(900_000);

const clusters = new Clusters();
t.teardown(() => clusters.stop());

const here = { lon: 10, lat: 10, z: 6 };
const there = { lon: -100, lat: 10, z: 6 };

async function painted(server: TestServer, place: typeof here, node: number): Promise<number> {
  const answer = await fetch(tileUrl(server, "m", place, "&base=0", node));
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await picture(Buffer.from(await answer.arrayBuffer()))).painted;
}

/** How a database that knows less than the present one takes its place. */
interface Way {
  readonly name: string;
  /** Called when what is to be known later is there. */
  readonly copy: (cluster: Cluster) => Promise<ClusterFiles | Cluster>;
  readonly takeOver: (copy: ClusterFiles | Cluster) => Promise<Cluster>;
}

const isRunning = (copy: ClusterFiles | Cluster): copy is Cluster => "port" in copy;

const ways: readonly Way[] = [
  {
    name: "a standby that lagged is promoted",
    copy: async (cluster) => {
      const standby = await (await cluster.baseBackup({ standby: true })).start();
      // It has heard of everything so far, and of nothing from now on.
      const [written] = (await cluster.sql("postgres", "select pg_current_wal_flush_lsn() as at")) as {
        at: string;
      }[];
      await waitFor(async () => {
        const [state] = (await standby.sql(
          "postgres",
          `select pg_last_wal_replay_lsn() >= '${written!.at}' as level`,
        )) as { level: boolean | null }[];
        return state?.level === true;
      });
      await standby.sql("postgres", "alter system set primary_conninfo = ''");
      await standby.sql("postgres", "select pg_reload_conf()");
      await waitFor(
        async () => (await standby.sql("postgres", "select from pg_stat_wal_receiver")).length === 0,
      );
      return standby;
    },
    takeOver: async (copy) => {
      if (!isRunning(copy)) throw new Error("not a standby");
      await copy.sql("postgres", "select pg_promote()");
      return copy;
    },
  },
  {
    name: "a base backup is recovered",
    copy: (cluster) => cluster.baseBackup(),
    takeOver: async (copy) => {
      if (isRunning(copy)) throw new Error("not a backup");
      await copy.write("recovery.signal", "");
      await copy.write(
        "postgresql.auto.conf",
        "restore_command = '/bin/false'\nrecovery_target_action = 'promote'\n",
      );
      const cluster = await copy.start();
      await waitFor(async () => {
        const [state] = (await cluster.sql("postgres", "select pg_is_in_recovery() as waits")) as {
          waits: boolean;
        }[];
        return state?.waits === false;
      });
      return cluster;
    },
  },
  {
    name: "files are put back as they were, which say that they are the same database",
    copy: (cluster) => cluster.baseBackup(),
    takeOver: async (copy) => {
      if (isRunning(copy)) throw new Error("not a backup");
      return copy.start();
    },
  },
];

for (const way of ways) {
  t.test(way.name, async (t) => {
    const board = new SwitchableProxy();
    const port = await board.listen();
    const first = await clusters.createWithSchema();
    board.switchTo(first.port);
    const server = await startServer({
      nodes: 2,
      databaseUrl: `postgresql://mapwright@127.0.0.1:${port}/mapwright`,
    });
    t.teardown(async () => {
      await server.stop();
      await board.close();
    });
    await makeMap(server, "m");
    await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
    const id = await addObject(server, "a", square(-101, 9, 3), { map: "m" });
    const object = `m/layers/a/objects/${id}/`;
    const copy = await way.copy(first);
    // Known to nodes, their memory and Redis, and to no database that is left.
    await addObject(server, "a", square(9, 9, 3), { map: "m" });
    for (const node of [0, 1]) {
      t.ok((await painted(server, here, node)) > 0);
      t.ok((await painted(server, there, node)) > 0);
    }
    await useTransactions(first, 30);
    await first.sql(
      "mapwright",
      `set search_path = mapwright, public; update ${await tableOf(first)} set svc_id = svc_id`,
    );
    const etag = (await server.api("GET", object)).headers.get("etag")!;
    const [lost] = (await first.sql(
      "mapwright",
      `select distinct xmin::text from ${await tableOf(first)}`,
    )) as {
      xmin: string;
    }[];
    board.switchTo(undefined);
    await first.kill();
    const second = await way.takeOver(copy);
    // As many changes as were lost, so that their numbers are given out again.
    await second.sql(
      "mapwright",
      `select set_config('search_path', 'mapwright, public', false);
       insert into ${await tableOf(second)} (geom) values (st_setsrid(st_point(100, 0), 4326))`,
    );
    // And in the transaction of the number that the client knows the object by, which is another one here.
    await useTransactions(second, 0, Number(lost!.xmin) - 1);
    await second.sql(
      "mapwright",
      `set search_path = mapwright, public; update ${await tableOf(second)} set svc_id = svc_id`,
    );
    t.same(
      await second.sql("mapwright", `select distinct xmin::text from ${await tableOf(second)}`),
      [lost],
      "the number was given out again",
    );
    board.switchTo(second.port);
    await waitFor(() => server.nodes.every((node) => node.services.changes.trusted));
    for (const node of [0, 1]) {
      t.equal(await painted(server, here, node), 0, "what was lost is not shown");
      t.ok((await painted(server, there, node)) > 0, "what was not lost is");
    }
    const token = await server.token("editor");
    for (const node of [0, 1]) {
      const read = await server.api("GET", object, { node, headers: { "if-none-match": etag } });
      t.equal(read.status, 200, "an ETag of what was lost is not that of what there is");
      const body = { geom: square(-101, 9, 4) };
      const write = { token, body, node, headers: { "if-match": etag } };
      t.equal((await server.api("PUT", object, write)).status, 412);
      t.equal((await server.api("PUT", object, { ...write, body: { fields: {} } })).status, 412);
      t.equal((await server.api("DELETE", object, write)).status, 412);
      const now = { "if-match": read.headers.get("etag")! };
      t.equal(
        (await server.api("PUT", object, { ...write, headers: now })).status,
        200,
        "that is what counts",
      );
    }
    await addObject(server, "a", square(9, 9, 3), { map: "m", node: 1 });
    for (const node of [0, 1]) t.ok((await painted(server, here, node)) > 0, "an edit is seen at once");
  });
}

/** Table of the layer's objects. */
async function tableOf(cluster: Cluster): Promise<string> {
  const found = await cluster.sql("mapwright", "select id from mapwright.node where code = 'a'");
  return `layers.l${(found as { id: string }[])[0]!.id}`;
}

/** Lets so many transactions go by, or all up to that number. */
const useTransactions = (cluster: Cluster, count: number, number = 0) =>
  cluster.sql(
    "mapwright",
    `do $$ begin
       for i in 1..${count} loop perform pg_current_xact_id(); commit; end loop;
       while pg_snapshot_xmax(pg_current_snapshot())::text::bigint <= ${number} loop
         perform pg_current_xact_id();
         commit;
       end loop;
     end $$`,
  );
