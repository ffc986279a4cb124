// Screenshots of the list of runs and of the live section for people to look at: npm run shots.
import { mkdirSync } from "node:fs";
import { test } from "@playwright/test";

import { demo_page } from "../demo";
import { entry_of, kMetrics, LiveServer, scene_tick } from "../live_server";

const out = process.env["SHOTS"] ?? "/tmp/shots";

const kSizes = [[400, 800], [1440, 900], [3840, 2160]].flatMap(([width, height]) => (["light", "dark"] as const).map((scheme) => [`${width}-${scheme}`, width!, height!, scheme] as const));
for (const [name, width, height, scheme] of kSizes) {
  test(name, async ({ browser }) => {
    mkdirSync(out, { recursive: true });
    const server = new LiveServer();
    await server.listen();
    server.page = { ...demo_page(), counters: [] };
    server.runs = [
      entry_of("20261116-101503-wan-1.3b-4242", { name: "wan-1.3b, 64 ranks", started: "2026-11-16T10:15:03Z", processes: 65, bytes: 88_123_456 }),
      entry_of("20261116-094412-fox-3977", { name: "fox in snow", started: "2026-11-16T09:44:12Z", in_progress: false, exit_code: 0, processes: 2, bytes: 5_123_456, wall_ns: 14.4e9, tags: ["baseline"], headline: "Denoise took 66% of 14.4 s: 48 steps of 175 ms. 2 findings.", stages: ["denoise 66%", "load_model 15%", "vae_decode 11%"], findings: 2 }),
      entry_of("20261116-093001-fox-3800", { name: "fox in snow", started: "2026-11-16T09:30:01Z", in_progress: false, exit_code: 1, processes: 2, bytes: 323_456, wall_ns: 1.25e9, stages: ["load_model 96%"], findings: 0 }),
      entry_of("20261115-181200-train-2211", { name: "lora training, second attempt with a name that is rather long", started: "2026-11-15T18:12:00Z", in_progress: false, exit_code: 137, bytes: 1.2e9 }),
      entry_of("20261115-170733-sdxl-2100", { name: "sdxl", started: "2026-11-15T17:07:33Z", in_progress: false, bytes: 44_000 }),
    ];
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    page.on("pageerror", (error) => console.log(name, error.message));
    await page.goto(server.url("/"));
    await page.locator("tbody tr").first().waitFor();
    for (const box of (await page.getByRole("checkbox").all()).slice(1, 3)) await box.check();
    await page.screenshot({ path: `${out}/${name}-runs.png`, fullPage: true });
    for (const [shot, ranks, gpus] of [["live", 64, 8], ["live-one", 1, 1]] as const) {
      await page.goto("about:blank");
      await page.goto(server.url(`/runs/${String(server.runs[0]!["id"])}`));
      while (server.watched === 0) await page.waitForTimeout(50);
      for (let n = 1; n <= 45; ++n) server.say("tick", scene_tick({ gpus, metrics: kMetrics, ranks }, n, { alerts: ranks > 1 ? [{ severity: "warning", text: "rank 21: a step takes 1.6 times the median rank's" }, { severity: "critical", text: "GPU-33333333-4c1d: slowed down because it is too hot" }] : [] }));
      await page.locator(".progress").waitFor();
      await page.getByLabel("Note").fill("batch 2");
      await page.getByRole("button", { name: "Mark this moment" }).click();
      await page.waitForTimeout(500);
      // All of it in view, so that every chart is drawn.
      await page.setViewportSize({ width, height: 3600 });
      await page.waitForTimeout(700);
      await page.screenshot({ path: `${out}/${name}-${shot}.png`, fullPage: true });
      await page.setViewportSize({ width, height });
    }
    server.say("end", { exit_code: null });
    await page.locator("#tab-summary[aria-selected=true]").waitFor();
    await page.screenshot({ path: `${out}/${name}-ended.png` });
    await page.close();
    await server.close();
  });
}
