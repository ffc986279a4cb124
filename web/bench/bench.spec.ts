// Figures of the page in headless Chromium, in one table: npm run bench.
//
// First draw: from the begin of navigation to the task after the first frame that shows the opened
// section; for the timeline with its canvas drawn, while the overview above it follows a frame later.
// Its CPU time is that of the page's main thread until then: it holds when others use the machine too.
// Redraw: time inside draw() while the view is moved 60 times. Medians of 9 openings, of 60 redraws. The browser has
// opened the file once before: its own start is not the page's.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test, type Browser, type Page } from "@playwright/test";

import { fill_bundle, kBundle, kLivePage } from "../tests/make_page";
import { encode_large } from "./large";

const kTimes = 9;
const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
const rows: string[][] = [["figure", "value", "goal"]];

test.afterAll(() => {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((r) => r[c]!.length)));
  console.log(`\n${rows.map((r) => r.map((cell, c) => cell.padEnd(widths[c]!)).join("  ")).join("\n")}\n`);
});

test("bundle", () => {
  for (const [name, page] of [["report", kBundle], ["live", kLivePage]] as const) {
    const bytes = readFileSync(page);
    rows.push([`shell of ${name}, raw`, `${(bytes.length / 1000).toFixed(1)} KB`, "200 KB"]);
    rows.push([`shell of ${name}, gzip -9`, `${(gzipSync(bytes, { level: 9 }).length / 1000).toFixed(1)} KB`, "75 KB"]);
  }
});

// Opens the file at a section; ms of wall time and of CPU time until it was drawn.
async function first_draw(browser: Browser, url: string): Promise<{ page: Page; wall: number; cpu: number }> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForFunction(() => performance.getEntriesByName("genscope:first-draw").length > 0, null, { timeout: 120_000 });
  const { metrics } = await session.send("Performance.getMetrics");
  const wall = await page.evaluate(() => performance.getEntriesByName("genscope:first-draw")[0]!.startTime);
  return { page, wall, cpu: (metrics.find((m) => m.name === "TaskDuration")?.value ?? NaN) * 1000 };
}

async function redraws(page: Page): Promise<number[]> {
  const canvas = page.locator(".tl-canvas canvas");
  const out: number[] = [];
  for (let k = 0; k < 60; ++k) {
    const before = await canvas.getAttribute("data-drawn");
    await page.keyboard.press(["w", "d", "a", "s"][k % 4]!);
    await page.waitForFunction((b) => document.querySelector<HTMLElement>(".tl-canvas canvas")?.dataset["drawn"] !== b, before, { timeout: 20_000 });
    out.push(Number(await canvas.getAttribute("data-ms")));
  }
  return out;
}

for (const [spans, goal] of [[100_000, 300], [1_000_000, 1000], [4_000_000, 2000]] as const) {
  test(`${spans} spans`, async ({ browser }) => {
    const folder = mkdtempSync(join(tmpdir(), "genscope-bench-"));
    const file = join(folder, "page.html");
    writeFileSync(file, fill_bundle(encode_large(spans)));
    const label = `${spans >= 1e6 ? `${spans / 1e6}M` : `${spans / 1e3}k`} spans`;
    rows.push([`${label}, file`, `${(statSync(file).size / 1e6).toFixed(1)} MB`, spans === 1_000_000 ? "8 MB" : ""]);
    await (await first_draw(browser, `file://${file}#tab=timeline`)).page.close();
    for (const tab of ["summary", "timeline"]) {
      const [wall, cpu, redraw]: [number[], number[], number[]] = [[], [], []];
      for (let i = 0; i < kTimes; ++i) {
        const drawn = await first_draw(browser, `file://${file}#tab=${tab}`);
        wall.push(drawn.wall);
        cpu.push(drawn.cpu);
        if (i === 0 && tab === "timeline") redraw.push(...(await redraws(drawn.page)));
        await drawn.page.close();
      }
      rows.push([`${label}, first draw of the ${tab}`, `${median(wall).toFixed(0)} ms (least ${Math.min(...wall).toFixed(0)}, CPU ${median(cpu).toFixed(0)})`, `${goal} ms`]);
      if (redraw.length > 0) rows.push([`${label}, redraw`, `${median(redraw).toFixed(1)} ms (least ${Math.min(...redraw).toFixed(1)})`, spans === 1_000_000 ? "16 ms" : ""]);
    }
    rmSync(folder, { recursive: true });
  });
}

// Resident memory of the process that shows the page, MB.
async function renderer_memory(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = (await session.send("SystemInfo.getProcessInfo")) as { processInfo: { type: string; id: number }[] };
  const resident = processInfo.filter((p) => p.type === "renderer").map((p) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${p.id}/status`, "utf8"))?.[1] ?? NaN) / 1000);
  return Math.max(...resident);
}

// Written by benchmarks/report: `tools/web bench` says where it is.
test("1,000 ranks", async ({ browser }) => {
  const file = process.env["GENSCOPE_RANKS_PAGE"];
  test.skip(!file, "no page of 1,000 ranks: build bench_report, then `tools/web bench` writes one");
  rows.push(["1,000 ranks, file", `${(statSync(file!).size / 1e6).toFixed(1)} MB`, "8 MB"]);
  for (const tab of ["summary", "timeline"]) {
    const drawn = await first_draw(browser, `file://${file!}#tab=${tab}`);
    rows.push([`1,000 ranks, first draw of the ${tab}`, `${drawn.wall.toFixed(0)} ms (CPU ${drawn.cpu.toFixed(0)})`, ""]);
    if (tab === "timeline") {
      const redraw = await redraws(drawn.page);
      rows.push(["1,000 ranks, redraw", `${median(redraw).toFixed(1)} ms`, ""]);
      rows.push(["1,000 ranks, memory of the browser's page", `${(await renderer_memory(browser)).toFixed(0)} MB`, "300 MB"]);
    }
    await drawn.page.close();
  }
});
