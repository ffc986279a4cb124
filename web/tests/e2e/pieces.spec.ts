// Links of a span, tables beside canvases, throttle bands, the pictures of a comparison, a copy of the
// page with its marks.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";

import { demo_compare, demo_page } from "../demo";
import { go, hash_of, open, view_of, watch, write_html, write_page } from "./util";

const demo = write_page("pieces", demo_page());
const compare = write_page("pieces-compare", demo_compare());

test("ASelectedLaunchPointsToItsKernel", async ({ page }) => {
  await open(page, demo, "#tab=timeline&q=cudaLaunchKernel");
  await page.keyboard.press("n");
  const detail = page.getByLabel("Selected span");
  await expect(detail).toContainText("Linked by correlation");
  const kernel = detail.getByRole("button", { name: /flash_fwd_kernel/ }).first();
  await kernel.click();
  await expect(page.locator(".detail h2").first()).toContainText("flash_fwd_kernel");
  await expect(detail.getByRole("button", { name: /cudaLaunchKernel/ }).first()).toBeVisible();
  await page.keyboard.press("]");
  await expect(detail).not.toContainText("Linked by");
});

test("AnArrowIsDrawnForTheSelectionOnly", async ({ page }) => {
  // A launch at 10 ms of 100, its kernel at 60 ms on the track below: between them only the arrow.
  const args = { correlation: 7 };
  const url = write_page("arrow", {
    names: ["launch", "kernel"], kinds: ["none", "none"], report: { run: { wall_ns: 100e6 } },
    tracks: [{ pid: 1, name: "host", spans: [{ begin: 10e6, duration: 2e6, name: 0, args }, { begin: 90e6, duration: 2e6, name: 0 }] }, { pid: 1, name: "gpu", device: true, spans: [{ begin: 60e6, duration: 5e6, name: 1, args }] }],
  });
  // Dark pixels of a column half way, over both tracks.
  const ink = (): Promise<number> =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".tl-canvas canvas")!;
      const { data } = canvas.getContext("2d")!.getImageData(Math.round(canvas.width * 0.35), 52, 1, 48);
      let dark = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i]! + data[i + 1]! + data[i + 2]! < 300) ++dark;
      return dark;
    });
  await open(page, url, "#tab=timeline&span=0.0.0&theme=light");
  await expect.poll(ink).toBeGreaterThan(0);
  await go(page, "#tab=timeline&span=0.0.1&theme=light");
  await expect(page.getByLabel("Selected span")).toContainText("90");
  await expect.poll(ink).toBe(0);
});

test("EveryCanvasSaysWhatItShowsAndHasATable", async ({ page }) => {
  for (const [url, tabs] of [[demo, ["timeline", "stages", "gpu", "host", "memory", "flame"]], [compare, ["timeline", "difference"]]] as const) {
    await open(page, url);
    for (const tab of tabs) {
      await page.locator(`#tab-${tab}`).click();
      await expect(page.locator(".panel canvas").first()).toBeVisible();
      const silent = await page.locator(".panel canvas").evaluateAll((all) => all.filter((c) => c.getAttribute("role") !== "img" || (c.getAttribute("aria-label") ?? "").length < 10).length);
      expect(silent, tab).toBe(0);
      const toggle = page.locator(".panel").getByRole("button", { name: "table", exact: false }).first();
      const before = await page.locator(".panel table").count();
      await toggle.click();
      await expect(page.locator(".panel table"), tab).toHaveCount(before + 1);
      await expect(page.locator(".panel [aria-pressed=true]").first()).toBeVisible();
    }
  }
});

test("TheTableOfTheTimelineHoldsTheSpansInView", async ({ page }) => {
  await open(page, demo, "#tab=timeline&view=2100000000~2600000000");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  const table = page.getByRole("region", { name: "Spans in view" });
  await expect(table).toContainText("text_encode");
  await expect(page.locator(".tl-scroll")).toBeHidden();
  await table.getByRole("button", { name: "text_encode" }).first().click();
  await expect(page.locator(".detail h2").first()).toHaveText("text_encode");
  await page.keyboard.press("0");
  await expect(page.locator(".card .hint")).toContainText(/the first 500 are here, [\d,]+ more are not/);
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await expect(page.locator(".tl-scroll")).toBeVisible();
});

test("HeldDownClocksAreBandsWithTheirReasons", async ({ page }) => {
  await open(page, demo, "#tab=gpu");
  const chart = page.locator(".chart", { hasText: "Clocks" }).first();
  await expect(chart).toContainText("Held down: power cap 2.40 s; thermal, power cap 500 ms");
  await expect(chart.locator("canvas")).toHaveAttribute("aria-label", /power cap/);
  for (const [title, limit] of [["Power", "Power limit"], ["Temperature", "Temperature limit"]] as const) {
    await expect(page.locator(".chart", { hasText: title }).first().locator(".legend")).toContainText(limit);
  }
});

test("WarmUpStepsCanBeLeftOutAndBlocksAreAHeatmap", async ({ page }) => {
  await open(page, demo, "#tab=stages");
  await expect(page.locator(".heat-cell")).toHaveCount(48);
  await page.getByLabel(/leave out the first step/).check();
  await page.waitForTimeout(250);
  expect(hash_of(page).get("warm")).toBe("1");
  await expect(page.locator(".chart", { hasText: "Duration of each step" }).locator(".readout")).not.toContainText("820");
});

test("AComparisonAlignsStagesAndColoursTheFlame", async ({ page }) => {
  const trouble = watch(page);
  await open(page, compare, "#tab=timeline");
  await expect(page.locator(".lane-group")).toHaveCount(2);
  await page.locator("#search").fill("vae_decode");
  await page.locator("#search").press("Enter");
  await expect(page.locator(".detail h2").first()).toHaveText("vae_decode");
  const begin = page.locator(".detail .facts div", { hasText: "Begin" }).locator("dd");
  const first = await begin.innerText();
  await page.locator("#search").press("Enter");
  await expect(begin).toHaveText(first);
  await page.locator("#search").press("Escape");
  await page.keyboard.press("0");
  await page.keyboard.press("w");
  expect(await view_of(page)).not.toBeNull();
  await page.locator("#tab-difference").click();
  await expect(page.locator(".flame canvas")).toHaveAttribute("aria-label", /1 are new, \d+ are gone/);
  await expect(page.locator(".card", { hasText: "New paths" }).last()).toContainText("generate › compile");
  await expect(page.locator(".card", { hasText: "Gone paths" }).last()).toContainText("prefetch");
  const box = (await page.locator(".flame canvas").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + 30);
  await expect(page.locator(".flame .readout")).toContainText(/own time/);
  await page.locator(".flame").getByRole("button", { name: "table" }).click();
  await expect(page.locator(".flame table")).toContainText("+ new");
  await expect(page.locator(".flame table")).toContainText("▼");
  expect(trouble).toEqual([]);
});

test("AComparisonWithoutRunsHasNoPictures", async ({ page }) => {
  const plain = demo_compare();
  delete plain.runs;
  delete plain.outlines;
  await open(page, write_page("pieces-plain", plain));
  await expect(page.getByRole("tab")).toHaveCount(2);
});

test("ACopyKeepsMarksAndData", async ({ page }) => {
  await open(page, demo, "#tab=timeline&view=3000000000~4000000000&mark=1000~2000~%3C%2Fscript%3E+%26+%22quoted%22");
  await page.locator("#tab-data").click();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "This page, HTML" }).click();
  const html = readFileSync(await (await waiting).path(), "utf8");
  const trouble = watch(page);
  await open(page, write_html("copied", html));
  await expect(page.locator("#tab-data")).toHaveAttribute("aria-selected", "true");
  await page.locator("#tab-timeline").click();
  await expect(page.getByLabel("Note", { exact: true })).toHaveValue('</script> & "quoted"');
  expect(await view_of(page)).toEqual([3e9, 4e9]);
  await page.locator("#tab-stages").click();
  await expect(page.locator("table").first()).toContainText("denoise");
  // A copy of the copy, with an address of its own: the address counts.
  await open(page, page.url().replace(/#.*/, ""), "#tab=gpu");
  await expect(page.locator("#tab-gpu")).toHaveAttribute("aria-selected", "true");
  expect(trouble).toEqual([]);
});
