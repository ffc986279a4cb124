// Figures of the page in headless Chromium: size of the bundle, first draw, redraw. npm run bench.
//
// First draw: from the begin of navigation to the end of the first paint of the timeline, the file
// opened at its Timeline. Redraw: time inside draw() while the view is moved 60 times; median.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "@playwright/test";

import { Blobs, container, fill_bundle, kBundle } from "../tests/make_page";
import { random } from "../tests/demo";

// As large_page() of the tests, but straight into columns: 4M objects would not fit.
function encode_large(spans: number): Uint8Array {
  const [tracks, lanes] = [8, 5];
  const next = random(3);
  const names = Array.from({ length: 200 }, (_, i) => `op_${i}`);
  const blobs = new Blobs();
  const per = Math.floor(spans / tracks);
  let wall = 0;
  const list = Array.from({ length: tracks }, (_, t) => {
    const [begin, duration, name, lane] = [new Uint32Array(per), new Uint32Array(per), new Uint16Array(per), new Uint8Array(per)];
    const free = new Array<number>(lanes).fill(0);
    let at = 0;
    for (let i = 0; i < per; ++i) {
      const row = i % lanes;
      const from = Math.max(at + Math.floor(next() * 900), free[row]!);
      begin[i] = from - at;
      at = from;
      duration[i] = Math.floor(200 + next() * next() * 6000);
      free[row] = from + duration[i]!;
      name[i] = Math.floor(next() * 200);
      lane[i] = row;
    }
    wall = Math.max(wall, ...free);
    return {
      pid: 1, tid: t + 1, rank: null, process: "bench", name: `thread ${t}`, device: false, lanes,
      begin: blobs.add("u32", begin), begin_far: [], duration: blobs.add("u32", duration), duration_far: [],
      name_id: blobs.add("u16", name), lane: blobs.add("u8", lane), flags: blobs.add("u8", new Uint8Array(per)), args: [], summarised: null,
    };
  });
  const none = { at: blobs.add("f64", []), name_id: blobs.add("u32", []), track: blobs.add("u32", []), args: [] };
  const header = { schema: "genscope.page/1", mode: "report", names, kinds: names.map(() => "none"), tracks: list, events: none, counters: [], limits: null, report: { run: { name: `${spans} spans`, wall_ns: wall } } };
  return container(header, blobs.bytes());
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
const rows: string[][] = [["figure", "value", "goal"]];

test.afterAll(() => {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((r) => r[c]!.length)));
  console.log(`\n${rows.map((r) => r.map((cell, c) => cell.padEnd(widths[c]!)).join("  ")).join("\n")}\n`);
});

test("bundle", () => {
  const bytes = readFileSync(kBundle);
  rows.push(["bundle, raw", `${(bytes.length / 1000).toFixed(1)} KB`, "160 KB"], ["bundle, gzip -9", `${(gzipSync(bytes, { level: 9 }).length / 1000).toFixed(1)} KB`, "60 KB"]);
});

for (const [spans, goal, times] of [[100_000, 300, 5], [1_000_000, 1000, 5], [4_000_000, 2000, 3]] as const) {
  test(`${spans} spans`, async ({ browser }) => {
    const folder = mkdtempSync(join(tmpdir(), "genscope-bench-"));
    const file = join(folder, "page.html");
    writeFileSync(file, fill_bundle(encode_large(spans)));
    const [first, redraw, heap]: [number[], number[], number[]] = [[], [], []];
    for (let i = 0; i < times; ++i) {
      const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
      await page.goto(`file://${file}#tab=timeline`, { waitUntil: "commit" });
      await page.waitForFunction(() => performance.getEntriesByName("genscope:first-draw").length > 0, null, { timeout: 120_000 });
      first.push(await page.evaluate(() => performance.getEntriesByName("genscope:first-draw")[0]!.startTime));
      heap.push(await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 1e6));
      if (i === 0) {
        const canvas = page.locator(".tl-canvas canvas");
        for (let k = 0; k < 60; ++k) {
          const before = await canvas.getAttribute("data-drawn");
          await page.keyboard.press(["w", "d", "a", "s"][k % 4]!);
          await page.waitForFunction((b) => document.querySelector<HTMLElement>(".tl-canvas canvas")?.dataset["drawn"] !== b, before, { timeout: 20_000 });
          redraw.push(Number(await canvas.getAttribute("data-ms")));
        }
      }
      await page.close();
    }
    const label = spans >= 1e6 ? `${spans / 1e6}M` : `${spans / 1e3}k`;
    rows.push([`${label} spans, file`, `${(statSync(file).size / 1e6).toFixed(1)} MB`, spans === 1_000_000 ? "8 MB" : ""]);
    rows.push([`${label} spans, first draw, median of ${times}`, `${median(first).toFixed(0)} ms (least ${Math.min(...first).toFixed(0)})`, `${goal} ms`]);
    rows.push([`${label} spans, redraw, median of 60`, `${median(redraw).toFixed(1)} ms (least ${Math.min(...redraw).toFixed(1)})`, spans === 1_000_000 ? "16 ms" : ""]);
    rows.push([`${label} spans, heap`, `${median(heap).toFixed(0)} MB`, ""]);
    rmSync(folder, { recursive: true });
  });
}
