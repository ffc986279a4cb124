// Talks to `genscope serve` (docs/openapi.json). Addresses start at the origin; the token is in a cookie.
// A server that leaves it in the address gets it back from there.
import { is_object, type Json, type JsonObject } from "../data/container";
import { gunzip } from "../data/load";
import { read_page, type Page } from "../data/page";
import { number_of, objects, strings, text_of } from "../data/report";

export type Link = "connecting" | "live" | "lost" | "refused";
export interface RunEntry {
  id: string;
  name: string;
  started: string | null;
  wall_ns: number | null;
  state: string;
  tags: string[];
  headline: string;
  stages: string[];
  findings: number | null; // null: the run was not read yet
  in_progress: boolean;
  exit_code: number | null;
  processes: number | null;
  bytes: number | null;
}

class Refused extends Error {}
export const link_of = (error: unknown): Link => (error instanceof Refused ? "refused" : "lost");

export const run_path = (id: string, part: string): string => `/api/v1/runs/${encodeURIComponent(id)}/${part}${location.search}`;

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path, { cache: "no-store" });
  if (answer.status === 401 || answer.status === 403) throw new Refused();
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answers ${answer.status}`);
  return answer;
}

export async function fetch_runs(): Promise<RunEntry[]> {
  const raw = (await (await ask(`/api/v1/runs${location.search}`)).json()) as Json;
  return objects(is_object(raw) ? raw["runs"] : []).map((r) => ({
    id: text_of(r["id"]),
    name: text_of(r["name"]),
    started: text_of(r["started"]) || null,
    wall_ns: number_of(r["wall_ns"]),
    state: text_of(r["state"]),
    tags: strings(r["tags"]),
    headline: text_of(r["headline"]),
    stages: strings(r["stages"]),
    findings: number_of(r["findings"]),
    in_progress: r["in_progress"] === true,
    exit_code: number_of(r["exit_code"]),
    processes: number_of(r["processes"]),
    bytes: number_of(r["bytes"]),
  }));
}

export async function fetch_page(id: string): Promise<Page> {
  const answer = await ask(run_path(id, "page"));
  return read_page(await gunzip(new Uint8Array(await answer.arrayBuffer())));
}

export interface Handlers {
  tick: (raw: JsonObject) => void;
  end: (exit_code: number | null) => void;
  link: (state: Link) => void;
}

// A server that dies may leave half an event: the next one is whole.
function parse(text: string): JsonObject | null {
  try {
    const raw = JSON.parse(text) as Json;
    return is_object(raw) ? raw : null;
  } catch {
    return null;
  }
}

// The browser itself comes back with Last-Event-ID when a stream breaks. When it gives up, because the
// server answered something else or is gone, it is tried anew every 2 seconds.
export function follow(id: string, handlers: Handlers): void {
  const source = new EventSource(run_path(id, "stream"));
  const on = (name: string, then: (raw: JsonObject) => void): void =>
    source.addEventListener(name, (event: MessageEvent<string>) => {
      const raw = parse(event.data);
      if (raw) then(raw);
    });
  source.onopen = () => handlers.link("live");
  on("tick", handlers.tick);
  on("end", (raw) => {
    source.close();
    handlers.end(number_of(raw["exit_code"]));
  });
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) {
      handlers.link("lost");
      return;
    }
    fetch_runs().then(
      () => handlers.link("lost"),
      (error: unknown) => handlers.link(link_of(error)),
    );
    setTimeout(() => follow(id, handlers), 2000);
  };
}
