import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { expect, test, type Page } from "@playwright/test";

import { demo_compare, demo_page, large_page } from "../demo";
import { encode_page, fill_bundle, fill_text } from "../make_page";
import { go, hash_of, kCompareTabs, kTabs, open, overflow, view_of, watch, write_html, write_page } from "./util";

const demo = write_page("demo", demo_page());
const compare = write_page("compare", demo_compare());
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("EverySectionShowsItselfAndAsksNoServer", async ({ page }) => {
  const trouble = watch(page);
  await open(page, demo);
  const tabs = page.getByRole("tab");
  await expect(tabs).toHaveCount(kTabs.length);
  for (const tab of kTabs) {
    await page.locator(`#tab-${tab}`).click();
    await expect(page.locator(`#tab-${tab}`)).toHaveAttribute("aria-selected", "true");
    await expect(page.locator(".panel")).not.toBeEmpty();
    expect((await page.locator(".panel").innerText()).length).toBeGreaterThan(40);
  }
  // Each with its own picture: names that the build shortens must not be looked up by text.
  const pictures = await page.locator("[role=tab] path").evaluateAll((all) => all.map((p) => p.getAttribute("d")));
  expect(new Set(pictures).size).toBe(kTabs.length);
  expect(pictures).not.toContain("");
  await open(page, compare);
  await expect(tabs).toHaveCount(kCompareTabs.length);
  await expect(page.locator(".verdict")).toContainText("steady step");
  await expect(page.locator("tbody tr")).toHaveCount(18);
  expect(trouble).toEqual([]);
});

test("RunsAreDrawnOverOneAnother", async ({ page }) => {
  const trouble = watch(page);
  await open(page, compare, "#tab=runs");
  const lanes = page.locator(".lane:not(.axis)");
  await expect(lanes).toHaveCount(8);
  await expect(page.locator(".card-head").first()).toContainText("8 of 10 runs");
  await expect(page.locator(".lane i:not(.swatch)")).toHaveCount(32);
  const left = (nth: number): Promise<number> => lanes.nth(nth).locator("i[title^='vae_decode']").evaluate((box) => box.getBoundingClientRect().left);
  expect(await left(0)).toBeGreaterThan((await left(4)) + 20);
  await page.getByLabel("Line up at").selectOption("vae_decode");
  expect(Math.abs((await left(0)) - (await left(4)))).toBeLessThan(1);
  await expect(page.locator(".legend").nth(1).locator("li")).toHaveCount(8);
  await lanes.nth(2).getByRole("button").click();
  await expect(page.locator(".legend").nth(1).locator("li")).toHaveCount(7);
  await page.getByRole("button", { name: "over time" }).click();
  await expect(page.locator("figure.chart").first()).toContainText("over time");
  await expect(page.locator("tbody tr")).toHaveCount(8);
  expect(trouble).toEqual([]);
});

test("SummarySaysWhatHappened", async ({ page }) => {
  await open(page, demo);
  await expect(page.locator(".verdict")).toHaveText("Denoise took 66% of 19.1 s: 48 steps of 175 ms. 4 findings.");
  await expect(page.locator(".tile")).toHaveCount(10);
  await expect(page.locator(".quality")).toContainText("Nothing was dropped");
});

test("EveryKeyDoesWhatTheHelpSays", async ({ page }) => {
  await open(page, demo, "#tab=timeline");
  const press = async (key: string): Promise<[number, number] | null> => {
    await page.keyboard.press(key);
    return view_of(page);
  };
  const size = (v: [number, number] | null): number => (v ? v[1] - v[0] : Infinity);
  const one = await press("w");
  expect(size(one)).toBeLessThan(14e9);
  const two = await press("w");
  expect(size(two)).toBeLessThan(size(one));
  expect(size(await press("s"))).toBeGreaterThan(size(two));
  const before = await press("w");
  const right = await press("d");
  expect(right![0]).toBeGreaterThan(before![0]);
  const left = await press("a");
  expect(left![0]).toBeLessThan(right![0]);
  expect(await press("0")).toBeNull();
  // History: after a pause each view is remembered.
  await page.waitForTimeout(400);
  await press("w");
  await page.waitForTimeout(400);
  expect(await press(",")).toBeNull();
  expect(await press(".")).not.toBeNull();
  // Spans.
  await page.keyboard.press("]");
  await page.waitForTimeout(250);
  expect(hash_of(page).get("span")).toBe("0.0.0");
  await page.keyboard.press("]");
  await page.waitForTimeout(250);
  expect(hash_of(page).get("span")).toBe("0.1.0");
  await page.keyboard.press("[");
  await page.waitForTimeout(250);
  expect(hash_of(page).get("span")).toBe("0.0.0");
  await page.keyboard.press("]");
  expect(size(await press("f"))).toBeLessThan(3e9);
  await page.keyboard.press("p");
  await page.waitForTimeout(250);
  expect(hash_of(page).get("pins")).toBe("t0");
  await expect(page.locator(".lane-label.pinned")).toHaveCount(1);
  await page.keyboard.press("m");
  await page.waitForTimeout(250);
  expect(hash_of(page).getAll("mark").length).toBe(1);
  // Search.
  await page.keyboard.press("/");
  await expect(page.locator("#search")).toBeFocused();
  await page.keyboard.type("vae");
  await expect(page.locator(".hits")).toHaveText("2");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await expect(page.locator(".hits")).toHaveText("1 of 2");
  await page.keyboard.press("N");
  await expect(page.locator(".hits")).toHaveText("2 of 2");
  await expect(page.locator(".detail h2").first()).toHaveText("vae_decode");
  await page.keyboard.press("Escape");
  await expect(page.locator("#search")).toHaveValue("");
  // Go to, help, theme, tabs.
  await page.keyboard.press("g");
  await page.locator("dialog input").fill("5 s");
  await page.keyboard.press("Enter");
  const there = await view_of(page);
  expect((there![0] + there![1]) / 2).toBeCloseTo(5e9, -6);
  await page.keyboard.press("?");
  await expect(page.locator("dialog")).toContainText("Zoom in");
  await page.keyboard.press("Escape");
  await expect(page.locator("dialog")).toHaveCount(0);
  await page.keyboard.press("t");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.keyboard.press("t");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  for (let i = 1; i <= 9; ++i) {
    await page.keyboard.press(String(i));
    await expect(page.getByRole("tab").nth(i - 1)).toHaveAttribute("aria-selected", "true");
  }
});

test("EveryCommandHasAButtonInTheHelp", async ({ page }) => {
  await open(page, demo, "#tab=timeline");
  await page.getByLabel("Keys and help").click();
  await expect(page.locator("dialog li button")).toHaveCount(19);
  await page.locator("dialog li button", { hasText: "Zoom in" }).click();
  expect(await view_of(page)).not.toBeNull();
});

test("WheelZoomsDragMovesShiftDragMeasures", async ({ page }) => {
  await open(page, demo, "#tab=timeline");
  const canvas = page.locator(".tl-canvas canvas");
  const box = (await canvas.boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + 120];
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -300);
  const zoomed = (await view_of(page))!;
  expect(zoomed[1] - zoomed[0]).toBeLessThan(8e9);
  await page.mouse.down();
  await page.mouse.move(x - 200, y, { steps: 4 });
  await page.mouse.up();
  const moved = (await view_of(page))!;
  expect(moved[0]).toBeGreaterThan(zoomed[0]);
  await page.keyboard.down("Shift");
  await page.mouse.move(x - 100, y);
  await page.mouse.down();
  await page.mouse.move(x + 100, y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await expect(page.getByLabel("Statistics of the range")).toContainText("step");
  // A click selects, a double click fits.
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await page.mouse.click(x, box.y + 24 + 26 + 5 + 18 + 8);
  await expect(page.locator(".detail h2").first()).toHaveText("denoise");
  await page.mouse.dblclick(x, box.y + 24 + 26 + 5 + 18 + 8);
  const fitted = (await view_of(page))!;
  expect(fitted[1] - fitted[0]).toBeLessThan(12e9);
});

test("OverviewMovesTheWindow", async ({ page }) => {
  await open(page, demo, "#tab=timeline");
  const box = (await page.locator(".overview canvas").boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
  await page.mouse.up();
  const view = (await view_of(page))!;
  expect(view[0] / 14.4e9).toBeCloseTo(0.25, 1);
  expect(view[1] / 14.4e9).toBeCloseTo(0.5, 1);
});

test("FindingsMoveTheTimeline", async ({ page }) => {
  await open(page, demo, "#tab=findings");
  await page.getByRole("button", { name: "Show in the timeline" }).nth(1).click();
  await expect(page.locator("#tab-timeline")).toHaveAttribute("aria-selected", "true");
  await expect(page.locator(".detail h2").first()).toHaveText("load_model");
  await expect(page.locator("#search")).toHaveValue("load_model");
  expect((await view_of(page))![1]).toBeLessThan(4e9);
});

test("AddressRestoresTheView", async ({ page }) => {
  const hash = "#tab=timeline&view=3000000000~4000000000&span=0.1.2&q=step&theme=dark&pins=t2&mark=1000~2000~a+note";
  await open(page, demo, hash);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(page.locator("#search")).toHaveValue("step");
  await expect(page.locator(".detail h2").first()).toHaveText("denoise");
  await expect(page.locator(".lane-label.pinned")).toHaveCount(1);
  await expect(page.getByLabel("Note", { exact: true })).toHaveValue("a note");
  expect(await view_of(page)).toEqual([3e9, 4e9]);
  // Nonsense in the address is ignored.
  await open(page, demo, "#tab=nowhere&view=a~b&span=9.9.9&range=5~1");
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
});

test("StagesOpenTheirDistribution", async ({ page }) => {
  await open(page, demo, "#tab=stages");
  await page.getByRole("button", { name: "vae_decode" }).click();
  await expect(page.locator(".histogram")).toBeVisible();
  await page.getByRole("button", { name: "p95" }).click();
  await expect(page.locator("th[aria-sort=descending]").first()).toContainText("p95");
  await page.getByRole("button", { name: "p95" }).click();
  await expect(page.locator("th[aria-sort=ascending]").first()).toContainText("p95");
});

test("TablesOfStagesAreWholeOnAPhone", async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await open(page, demo, "#tab=stages");
  const tables = page.locator(".table-box");
  const beyond = (): Promise<number[]> => tables.evaluateAll((all) => all.map((box) => box.scrollWidth - box.clientWidth));
  for (const over of await beyond()) expect(over).toBeLessThanOrEqual(0);
  await expect(tables.first().getByRole("columnheader").filter({ visible: true })).toHaveText(["Name", "Count", "Total▾", "Share"]);
  await page.getByRole("button", { name: "All 15 columns" }).click();
  await expect(tables.first().getByRole("columnheader").filter({ visible: true })).toHaveCount(15);
  await page.setViewportSize({ width: 1440, height: 800 });
  await expect(page.getByRole("button", { name: /columns/ })).toHaveCount(0);
});

test("AProgramWithoutStagesSeesTheLineThatMarksOne", async ({ page }) => {
  const bare = (command: string[]) => ({ ...demo_page(), tracks: [], report: { ...demo_page().report!, stages: [], processes: [], run: { command, wall_ns: 1e9 } } });
  await open(page, write_page("bare-python", bare(["python3", "generate.py"])));
  await expect(page.locator(".empty").first()).toContainText('with gs.stage("denoise"):');
  await expect(page.locator(".empty").first()).not.toContainText("GENSCOPE_STAGE");
  await open(page, write_page("bare-cpp", bare(["./generate"])));
  await expect(page.locator(".empty").first()).toContainText('GENSCOPE_STAGE("denoise");');
  await expect(page.locator(".empty").first()).not.toContainText("gs.stage");
});

test("DownloadsAreMadeHere", async ({ page }) => {
  const trouble = watch(page);
  await open(page, demo, "#tab=data");
  const names: string[] = [];
  for (const button of await page.locator(".downloads button").all()) {
    const waiting = page.waitForEvent("download");
    await button.click();
    names.push((await waiting).suggestedFilename());
  }
  expect(names).toEqual(["genscope-page.html", "genscope-report.json", "genscope-stages.csv", "genscope-spans.csv", "genscope-samples.csv", "genscope-trace.json"]);
  expect(trouble).toEqual([]);
});

async function violations(page: Page): Promise<string[]> {
  // The policy of the page forbids added scripts, rightly: evaluate() goes around it.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const run = (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run;
    return (await run()).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  });
}
for (const theme of ["light", "dark"]) {
  test(`AxeIsCleanIn${theme}`, async ({ page }) => {
    test.setTimeout(180_000);
    await open(page, demo, `#theme=${theme}`);
    for (const tab of kTabs) {
      await go(page, `#tab=${tab}&theme=${theme}&span=0.1.2&stage=step&mark=1000~2000~a`);
      expect(await violations(page), tab).toEqual([]);
    }
    await open(page, compare, `#theme=${theme}`);
    for (const tab of kCompareTabs) {
      await go(page, `#tab=${tab}&theme=${theme}`);
      expect(await violations(page), tab).toEqual([]);
    }
  });
}

test("NothingScrollsSidewaysFrom360To3840", async ({ page }) => {
  test.setTimeout(180_000);
  for (const [url, tabs] of [[demo, kTabs], [compare, kCompareTabs]] as const) {
    await open(page, url);
    for (const width of [360, 768, 1440, 3840]) {
      await page.setViewportSize({ width, height: width === 3840 ? 2160 : 800 });
      for (const tab of tabs) {
        await go(page, `#tab=${tab}&stage=step`);
        expect(await overflow(page), `${tab} at ${width}`).toBeLessThanOrEqual(0);
      }
    }
  }
});

test("PaperHoldsAllSections", async ({ page }) => {
  await open(page, demo, "#theme=dark");
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".paper")).toHaveCount(kTabs.length - 1);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await expect(page.locator(".rail")).toBeHidden();
  const pdf = await page.pdf();
  expect(pdf.length).toBeGreaterThan(30_000);
  await page.emulateMedia({ media: "screen" });
  await expect(page.locator(".paper")).toHaveCount(0);
});

test("ReducedMotionMovesNothing", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page, demo);
  const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => getComputedStyle(e).transitionDuration !== "0s" || getComputedStyle(e).animationName !== "none").length);
  expect(moving).toBe(0);
});

test("ThemeFollowsTheSystem", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, demo);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.emulateMedia({ colorScheme: "light" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});

test("DamageIsToldNotBlank", async ({ page }) => {
  const good = encode_page(demo_page());
  const wrong = Uint8Array.from(good);
  wrong[3] = 0;
  const cases: [string, string, RegExp][] = [
    ["magic", fill_bundle(wrong), /not the data of a genscope page/],
    ["cut", fill_bundle(good.subarray(0, good.length >> 1)), /cut/],
    ["gzip", fill_text("AAAAAAAA"), /cannot be decompressed/],
    ["base64", fill_text("%%%%"), /not base64/],
    ["empty", fill_bundle(null), /holds no data/],
  ];
  for (const [name, html, message] of cases) {
    await page.goto(write_html(`bad-${name}`, html));
    await expect(page.locator(".failure")).toContainText(message);
  }
});

test("AnEmptyReportSaysWhyThereIsNothing", async ({ page }) => {
  const trouble = watch(page);
  const url = write_page("empty", { names: [], kinds: [], tracks: [], report: { run: {} } });
  await open(page, url);
  for (const tab of ["summary", "timeline", "stages", "findings", "gpu", "host", "flame", "system", "data"]) {
    await page.locator(`#tab-${tab}`).click();
    expect((await page.locator(".panel").innerText()).length).toBeGreaterThan(20);
  }
  expect(trouble).toEqual([]);
});

test("SmallSpansOverTheCapShowAsDensityWithABanner", async ({ page }) => {
  const small = large_page(2000, 1, 2);
  small.tracks[0]!.summarised = { spans: 50_000, below_ns: 200, levels: [{ bucket_ns: 10_000, count: new Array<number>(100).fill(500), busy: new Array<number>(100).fill(30_000) }] };
  small.limits = { spans: 52_000, spans_kept: 2000, args_cut: 3, events_cut: 0, points_cut: 0 };
  await open(page, write_page("capped", small), "#tab=timeline");
  await expect(page.locator(".banner")).toContainText("50,000 of 52,000 spans");
});
