// What the live page costs its viewer: 8 GPUs with 10 metrics each and 64 ranks, a tick a second for 20 s.
// The share of a core is that of the page's main thread: TaskDuration of the browser, in CPU time of that thread so
// that a busy machine does not count, over wall time.
import { test } from "@playwright/test";

import { demo_page } from "../tests/demo";
import { entry_of, kMetrics, LiveServer, scene_tick } from "../tests/live_server";

const kSeconds = 20;

for (const [place, down] of [["at the top", 0], ["at the charts", 1400]] as const) {
  test(`live page, ${place}`, async ({ page }) => {
    const server = new LiveServer();
    await server.listen();
    server.runs = [entry_of("bench")];
    server.page = demo_page();
    const scene = { gpus: 8, metrics: kMetrics, ranks: 64 };
    await page.goto(server.url("/runs/bench"));
    while (server.watched === 0) await page.waitForTimeout(50);
    // Ten minutes of readings are there already.
    for (let n = 1; n <= 600; ++n) server.say("tick", scene_tick(scene, n));
    await page.locator(".rank-grid").waitFor();
    await page.evaluate((y) => scrollTo(0, y), down);
    await page.waitForTimeout(3000);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async (): Promise<number> => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration")!.value;
    const [before, begin] = [await busy(), performance.now()];
    for (let n = 601; n <= 600 + kSeconds; ++n) {
      server.say("tick", scene_tick(scene, n));
      await page.waitForTimeout(Math.max(0, begin + (n - 600) * 1000 - performance.now()));
    }
    const share = (await busy() - before) / ((performance.now() - begin) / 1000);
    console.log(`live page, 8 GPUs x 10 metrics, 64 ranks, ${place}: ${(share * 100).toFixed(1)} % of a core over ${kSeconds} s (goal: under 15 %)`);
    await page.close();
    await server.close();
  });
}
