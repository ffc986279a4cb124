// The live page against a server of a few lines that speaks as web/README.md says.
import { createServer, type Server, type ServerResponse } from "node:http";
import { expect, test } from "@playwright/test";

import { fill_bundle } from "../make_page";

interface Fake {
  server: Server;
  url: string;
  streams: Set<ServerResponse>;
  last_ids: (string | undefined)[];
}
const tick = (n: number) => ({
  state: "running", at_ns: n * 1e9, progress: [{ name: "denoise <b>", done: n, total: 20, eta_ns: (20 - n) * 1e9 }],
  steps: [{ index: n, at_ns: n * 1e9, duration_ns: 2e8, name: "step" }],
  series: [{ entity: "GPU-1", metric: "busy_ratio", unit: "1", at: [n * 1e9], value: [0.5 + n / 100] }],
  alerts: n > 2 ? [{ severity: "warning", title: "Memory will be full in 40 s", detail: "at this slope" }] : [],
  ranks: [{ rank: 0, state: "ok", step: n, detail: "" }, { rank: 1, state: "slow", step: n - 1, detail: "2 s behind" }],
});
async function serve(port = 0): Promise<Fake> {
  const fake: Fake = { server: null as unknown as Server, url: "", streams: new Set(), last_ids: [] };
  const html = fill_bundle(null);
  fake.server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x");
    if (url.pathname === "/") response.writeHead(200, { "content-type": "text/html" }).end(html);
    else if (url.searchParams.get("token") !== "secret") response.writeHead(403).end();
    else if (url.pathname === "/api/v1/snapshot") response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ schema: "genscope.live/1", ...tick(1), report: { run: { name: "live run" } } }));
    else if (url.pathname === "/api/v1/stream") {
      fake.last_ids.push(request.headers["last-event-id"] as string | undefined);
      response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 200\n\n");
      fake.streams.add(response);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((done) => fake.server.listen(port, "127.0.0.1", done));
  fake.url = `http://127.0.0.1:${(fake.server.address() as { port: number }).port}/?token=secret`;
  return fake;
}
const say = (fake: Fake, n: number, event = "tick"): void => fake.streams.forEach((s) => s.write(`id: ${n}\nevent: ${event}\ndata: ${JSON.stringify(event === "end" ? { ...tick(n), state: "ended" } : tick(n))}\n\n`));
const drop = async (fake: Fake): Promise<void> => {
  fake.streams.forEach((s) => s.destroy());
  fake.streams.clear();
  await new Promise<void>((done) => {
    fake.server.close(() => done());
    fake.server.closeAllConnections();
  });
};

test("FollowsARunLosesItsServerAndComesBack", async ({ page }) => {
  const fake = await serve();
  const port = Number(new URL(fake.url).port);
  await page.goto(fake.url);
  await expect(page.locator("h1")).toHaveText("live run");
  await expect(page.locator(".link")).toHaveText("● live");
  for (let n = 2; n <= 4; ++n) say(fake, n);
  await expect(page.locator(".progress")).toContainText("4 of 20");
  await expect(page.locator(".progress")).toContainText("denoise <b>");
  await expect(page.locator(".alerts")).toContainText("Memory will be full");
  await expect(page.locator(".rank-grid li")).toHaveCount(2);
  await expect(page.locator(".chart")).toHaveCount(1);
  await page.getByRole("button", { name: "Pause" }).click();
  say(fake, 5);
  await page.waitForTimeout(500);
  await expect(page.locator(".progress")).toContainText("4 of 20");
  await page.getByRole("button", { name: "Go on" }).click();
  await drop(fake);
  await expect(page.locator(".link")).toContainText("lost");
  const again = await serve(port);
  await expect(page.locator(".link")).toHaveText("● live", { timeout: 15_000 });
  expect(again.last_ids.length).toBeGreaterThan(0);
  say(again, 9);
  await expect(page.locator(".progress")).toContainText("9 of 20");
  say(again, 10, "end");
  await expect(page.locator(".head-detail")).toContainText("ended");
  await drop(again);
});

test("AWrongTokenIsSaid", async ({ page }) => {
  const fake = await serve();
  await page.goto(fake.url.replace("secret", "wrong"));
  await expect(page.locator(".link")).toContainText("token");
  await drop(fake);
});
