// A test double of `genscope serve` (docs/openapi.json) that says what a test tells it to say.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

import type { Json, JsonObject } from "../src/data/container";
import { random } from "./demo";
import { encode_page, kLivePage, type PageIn } from "./make_page";

export interface Asked {
  path: string;
  at: number; // ms
  last_event: string | undefined;
}

export class LiveServer {
  runs: JsonObject[] = [];
  page: PageIn | null = null; // null: 500, as of a run that has recorded nothing
  asked: Asked[] = [];
  private server: Server;
  private streams = new Set<ServerResponse>();
  private next = 1;

  constructor(readonly token = "secret") {
    const html = readFileSync(kLivePage, "utf8");
    this.server = createServer((request, response) => this.answer(request, response, html));
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((done) => this.server.listen(port, "127.0.0.1", done));
  }
  get port(): number {
    return (this.server.address() as { port: number }).port;
  }
  url(path = "/"): string {
    return `http://127.0.0.1:${this.port}${path}?token=${this.token}`;
  }
  count(part: string): number {
    return this.asked.filter((a) => a.path.endsWith(part)).length;
  }

  say(event: "tick" | "end", data: Json): void {
    const text = `id: ${this.next++}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.streams) stream.write(text);
  }
  get watched(): number {
    return this.streams.size;
  }

  async close(): Promise<void> {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
    const closed = new Promise<void>((done) => this.server.close(() => done()));
    this.server.closeAllConnections();
    await closed;
  }

  private answer(request: IncomingMessage, response: ServerResponse, html: string): void {
    const url = new URL(request.url ?? "/", "http://x");
    const path = decodeURIComponent(url.pathname);
    this.asked.push({ path, at: performance.now(), last_event: request.headers["last-event-id"] as string | undefined });
    const given = url.searchParams.get("token") ?? /genscope_token=([^;]*)/.exec(request.headers.cookie ?? "")?.[1];
    const send = (status: number, type: string, body: string | Uint8Array): void => {
      const cookie: { [name: string]: string } = url.searchParams.has("token") && status < 400 ? { "set-cookie": `genscope_token=${this.token}; Path=/; HttpOnly; SameSite=Strict` } : {};
      response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...cookie }).end(body);
    };
    // The page itself is given without a token, so that a test sees what it says then.
    if (path === "/" || /^\/runs\/[^/]+$/.test(path)) return send(200, "text/html; charset=utf-8", html);
    if (given !== this.token) return send(401, "text/plain", "the token is missing or wrong\n");
    if (path === "/api/v1/runs") return send(200, "application/json", JSON.stringify({ schema: "genscope.runs/1", runs: this.runs }));
    const part = /^\/api\/v1\/runs\/[^/]+\/(.+)$/.exec(path)?.[1];
    if (part === "page") return this.page ? send(200, "application/gzip", gzipSync(encode_page(this.page), { level: 1 })) : send(500, "text/plain", "nothing is recorded yet\n");
    if (part === "report.html") return send(200, "text/html", html);
    if (part === "stream") {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.flushHeaders();
      this.streams.add(response);
      response.on("close", () => this.streams.delete(response));
      return;
    }
    send(404, "text/plain", "there is no such page\n");
  }
}

export const entry_of = (id: string, more: JsonObject = {}): JsonObject => ({ id, name: id, started: "2026-11-16T10:00:00.000000000Z", in_progress: true, exit_code: null, processes: 1, bytes: 123_456, ...more });

export interface Scene {
  gpus: number;
  metrics: string[]; // of each GPU
  ranks: number;
}
export const kMetrics = ["busy_ratio", "memory_used_bytes", "power_watts", "temperature_celsius", "clock_core_mhz", "clock_memory_mhz", "energy_joules", "pcie_receive_bytes", "pcie_send_bytes", "sm_active_ratio"];
const kTypical: { [metric: string]: (next: () => number, n: number) => number } = {
  busy_ratio: (next) => 0.82 + 0.15 * next(),
  sm_active_ratio: (next) => 0.6 + 0.2 * next(),
  memory_used_bytes: (next, n) => 61e9 + 2e8 * Math.sin(n / 9) + 1e8 * next(),
  power_watts: (next) => 610 + 60 * next(),
  temperature_celsius: (next, n) => 58 + 9 * (1 - Math.exp(-n / 60)) + next(),
  clock_core_mhz: (next) => 1905 - 60 * Math.round(next()),
  clock_memory_mhz: () => 2619,
  energy_joules: (next, n) => 640 * n + 20 * next(),
  pcie_receive_bytes: (next, n) => 3e8 * n + 5e7 * next(),
  pcie_send_bytes: (next, n) => 1.2e8 * n + 3e7 * next(),
};

// Tick n of a believable run: second n. The same n gives the same tick.
export function scene_tick(scene: Scene, n: number, more: JsonObject = {}): JsonObject {
  const next = random(n * 7919 + 1);
  const total = 50;
  const values: Json[] = [];
  for (let g = 0; g < scene.gpus; ++g) {
    const entity = `GPU-${"0123456789abcdef"[g]!.repeat(8)}-4c1d`;
    for (const metric of scene.metrics) values.push({ name: `${entity}/${metric}`, entity, metric, unit: "", value: kTypical[metric]!(next, n) });
  }
  for (const [metric, value] of [["cpu_ns", 3.4e9 * n], ["rss_bytes", 9.1e9 + 4e6 * n], ["io_read_bytes", 2e7 * n]] as const) values.push({ name: `tree/${metric}`, entity: "tree", metric, unit: "", value });
  for (const [metric, value] of [["cpu_busy_ratio", 0.4 + 0.2 * next()], ["memory_used_bytes", 41e9 + 1e9 * next()], ["load_1m", 5 + next()]] as const) values.push({ name: `machine/${metric}`, entity: "machine", metric, unit: "", value });
  for (let r = 0; r < Math.max(1, scene.ranks); ++r) values.push({ name: "latent_rms", entity: null, metric: null, unit: null, value: 1 - n / 200 + 0.01 * next() });
  const processes = Array.from({ length: Math.max(1, scene.ranks) }, (_, r) => {
    const [slow, lost, done] = [r === 21, r === 40 && n > 12, r === 3 && n > 2];
    const steps = Math.min(total, Math.max(0, Math.floor(n / (slow ? 1.6 : 1.2)) - (lost ? 5 : 0)));
    return {
      pid: 4100 + r, rank: scene.ranks > 1 ? r : null, alive: !lost && !done, stage: done ? null : "denoise", stage_kind: "stage", stage_seconds: n, steps_done: steps, steps_total: total,
      step_seconds: (slow ? 1.6 : 1.2) + 0.02 * next(), eta_seconds: (total - steps) * (slow ? 1.6 : 1.2), eta_low_seconds: (total - steps) * (slow ? 1.5 : 1.15), eta_high_seconds: (total - steps) * (slow ? 1.8 : 1.3), last_stage: "text_encode", last_stage_seconds: 0.3, dropped_spans: 0,
    };
  });
  const steps = Array.from({ length: Math.min(32, n) }, (_, i) => 1.18 + 0.06 * random(n - Math.min(32, n) + i + 5)() + ((n - Math.min(32, n) + i) % 17 === 9 ? 0.9 : 0));
  return { at_ns: n * 1e9, in_progress: true, processes, values, steps, steps_pid: 4100, steps_ended: n, alerts: [], ...more };
}
