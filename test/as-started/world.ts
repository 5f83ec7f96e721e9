import type { Test } from "tap";
import { type Picture, picture } from "../support/pictures.js";
import { type Finished, run } from "./installation.js";

/** What the steps of a walk have: a server as somebody outside knows it, and a shell in the folder where it was started. */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  /** Parsed JSON; undefined when it is none. */
  readonly json: any;
}

export interface Asked {
  /** Sent as JSON unless it is a text, bytes or a form. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: 200. */
  readonly status?: number;
}

export interface Installation {
  /** Without a slash at its end. */
  readonly url: string;
  /** Where the server was started, and commands are typed. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** What `mapwright` stands for in that shell. */
  readonly command: readonly string[];
  /** What the server has said so far. */
  readonly told: () => string;
  /** Hosts that external layers may name by the settings; none without settings. */
  readonly externalHosts: readonly string[];
}

/** Project of the walk, and its administrator. */
export const project = "town";
export const login = "ann";
export const password = "correct-horse";

export class World {
  /** Of the administrator. */
  token = "";
  /** What was asked for so far: method and address of requests, arguments of commands. */
  readonly requests: { readonly method: string; readonly url: URL }[] = [];
  readonly commands: (readonly string[])[] = [];

  constructor(readonly at: Installation) {}

  get url(): string {
    return this.at.url;
  }

  /** The project with its first user, made on the command line. */
  async found(): Promise<void> {
    await this.mapwright(["project", "create", project, "--languages", "en,de"]);
    await this.mapwright(["user", "add", login, "--project", project, "--role", "admin"], `${password}\n`);
    this.token = (await this.api("POST", "login/", { body: { user: login, pass: password } })).json.token;
  }

  /** A command that must succeed. @returns its standard output */
  async mapwright(args: readonly string[], input: string | Buffer = ""): Promise<Buffer> {
    const { status, stdout, stderr } = await this.tried(args, input);
    if (status !== 0) throw new Error(`mapwright ${args.join(" ")}: ${status} ${stdout} ${stderr}`);
    return stdout;
  }

  /** A command, whatever becomes of it. */
  tried(args: readonly string[], input: string | Buffer = ""): Promise<Finished> {
    const { folder: cwd, env, command } = this.at;
    this.commands.push(args);
    return run([...command, ...args], { cwd, env, input });
  }

  /** A request to the project, with its administrator's token. The path continues after `/api/2.8/town/`. */
  api(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const headers = { ...(this.token !== "" && { "x-token": this.token }), ...asked.headers };
    return this.ask(method, `/api/2.8/${project}/${path}`, { ...asked, headers });
  }

  /** A request without a token. @throws Error when its status is another one */
  async ask(method: string, path: string, { body, headers = {}, status = 200 }: Asked = {}): Promise<Answer> {
    const isRaw = body === undefined || body instanceof FormData || body instanceof Uint8Array;
    const url = new URL(path, this.url);
    this.requests.push({ method, url });
    const answer = await fetch(url, {
      method,
      headers: { ...(!isRaw && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as never }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = bytes.toString();
    if (answer.status !== status)
      throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`);
    return { status: answer.status, headers: answer.headers, bytes, text, json: parsed(text) };
  }

  /** Asks for what the public may read, and gives the answer before its body has come. */
  open(path: string, signal: AbortSignal): Promise<Response> {
    const url = new URL(path, this.url);
    this.requests.push({ method: "GET", url });
    return fetch(url, { signal });
  }

  /** Makes a published map with one layer. @returns the layer's id */
  async makeMap(map: string, layer: string, css_style = ""): Promise<number> {
    await this.api("POST", "", { body: { code: map } });
    return this.makeLayer(map, layer, css_style);
  }

  async makeLayer(map: string, layer: string, css_style = ""): Promise<number> {
    return (await this.api("POST", `${map}/layers/`, { body: { code: layer, css_style } })).json.id;
  }

  /** Imports files in one request. */
  async upload(
    path: string,
    files: Readonly<Record<string, string | Uint8Array>>,
    query = "",
  ): Promise<Answer> {
    const form = new FormData();
    for (const [name, bytes] of Object.entries(files)) form.append("file", new Blob([bytes as never]), name);
    return this.api("POST", `${path}/import/${query}`, { body: form });
  }

  /** A tile of the map without its base map, as anybody sees it. */
  tile(map: string, place: Place, query = ""): Promise<Picture> {
    return this.tileAnswer(map, place, query).then(({ bytes }) => picture(bytes));
  }

  tileAnswer(map: string, { lon, lat, z }: Place, query = ""): Promise<Answer> {
    const [x, y] = positionOf({ lon, lat, z });
    return this.ask(
      "GET",
      `/tms/${project}/${map}/${z}/${Math.floor(x)}/${Math.floor(y)}.png?base=0${query}`,
    );
  }

  /** The colour of a map at a place. */
  async colour(map: string, place: Place, query = ""): Promise<readonly number[]> {
    const [x, y] = positionOf(place);
    const tile = await this.tile(map, place, query);
    return tile.at(Math.floor((x % 1) * tile.width), Math.floor((y % 1) * tile.height));
  }
}

export interface Place {
  readonly lon: number;
  readonly lat: number;
  readonly z: number;
}

/** In tiles from the north-west. */
function positionOf({ lon, lat, z }: Place): [number, number] {
  const side = 2 ** z;
  const radians = (lat * Math.PI) / 180;
  return [
    ((lon + 180) / 360) * side,
    ((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side,
  ];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One capability, walked through once. */
export interface Step {
  readonly name: string;
  readonly walk: (t: Test, world: World) => Promise<void>;
  /** Whether it is also walked where the server is given a database and settings. */
  readonly also?: boolean;
}

export const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });
export const feature = (properties: object, geometry: object | null) => ({
  type: "Feature",
  properties,
  geometry,
});
export const collection = (...features: readonly object[]) => ({ type: "FeatureCollection", features });
