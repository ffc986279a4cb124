// The page that `genscope serve` gives, against a double that speaks as docs/openapi.json says.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test, type Page } from "@playwright/test";

import type { JsonObject } from "../../src/data/container";
import { demo_page } from "../demo";
import { entry_of, kMetrics, LiveServer, scene_tick, type Scene } from "../live_server";

const kSmall: Scene = { gpus: 2, metrics: kMetrics.slice(0, 4), ranks: 1 };
const kRanks: Scene = { ...kSmall, ranks: 64 };
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let server: LiveServer;
test.beforeEach(async () => {
  server = new LiveServer();
  await server.listen();
  server.runs = [entry_of("run-1", { name: "fox in snow" })];
  server.page = demo_page();
});
test.afterEach(async () => server.close());

function errors(page: Page): string[] {
  const out: string[] = [];
  page.on("pageerror", (e) => out.push(e.message));
  page.on("dialog", (d) => {
    out.push(`dialog ${d.message()}`);
    void d.dismiss();
  });
  return out;
}
async function watched(page: Page, path = "/runs/run-1", hash = ""): Promise<void> {
  await page.goto(server.url(path) + hash);
  await expect.poll(() => server.watched).toBeGreaterThan(0);
}
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const run = (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run;
    return (await run()).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  });
}
const overflow = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
// A picture of the canvas, to see whether it was drawn anew.
// Of the first chart over time: the one before it is over steps.
const pixels = (page: Page): Promise<string> => page.locator("canvas.plot").nth(1).evaluate((c: HTMLCanvasElement) => c.toDataURL());

test("FollowsARunToItsEndAndShowsTheReport", async ({ page }) => {
  const wrong = errors(page);
  await watched(page);
  await expect(page.locator(".link")).toHaveText("● live");
  await expect(page.locator("#tab-live")).toHaveAttribute("aria-selected", "true");
  for (let n = 1; n <= 6; ++n) server.say("tick", scene_tick(kSmall, n, n > 4 ? { alerts: [{ severity: "critical", text: "GPU-0: slowed down because it is too <hot>" }] } : {}));
  await expect(page.locator(".progress")).toContainText("denoise");
  await expect(page.locator(".progress")).toContainText("5 of 50 steps, 1.2");
  await expect(page.locator(".eta")).toHaveText("54\u202fs to go (51.7\u202fs to 58.5\u202fs)");
  await expect(page.locator(".alerts")).toContainText("critical GPU-0: slowed down because it is too <hot>");
  // Steps are a chart; the table is behind it.
  const chart = page.locator(".chart", { hasText: "Duration of each step" });
  await expect(chart.locator("canvas")).toBeVisible();
  await expect(chart).toContainText("slowest 1.19\u202fs of 6");
  await chart.getByRole("button", { name: "table" }).click();
  await expect(page.getByRole("region", { name: "Steps" }).locator("tbody tr")).toHaveCount(6);
  await expect(page.getByRole("region", { name: "Steps" }).locator("tbody th").first()).toHaveText("6");
  await expect(page.locator(".rank-grid")).toHaveCount(0);
  // The other sections show what the server had recorded when the page was opened.
  await page.locator("#tab-stages").click();
  await expect(page.locator(".panel")).toContainText("vae_decode");
  expect(server.count("/page")).toBe(1);
  await page.locator("#tab-live").click();
  server.say("end", { exit_code: 0 });
  await expect(page.locator(".banner[role=status]")).toHaveText("The run is over: ✓ ended 0.");
  await expect(page.locator("#tab-live")).toHaveCount(0);
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
  expect(server.count("/page")).toBe(2);
  await expect.poll(() => server.watched).toBe(0);
  expect(wrong).toEqual([]);
});

for (const [code, words] of [[null, "was killed: it left no exit code"], [137, "over: ✖ killed, signal 9"], [3, "over: ✖ failed 3"]] as const) {
  test(`AnEndWithExitCode${code}IsSaid`, async ({ page }) => {
    await watched(page);
    server.say("tick", scene_tick(kSmall, 1));
    server.say("end", { exit_code: code });
    await expect(page.locator(".banner[role=status]")).toContainText(words);
    await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
  });
}

test("GoesOnAfterTheServerWasRestarted", async ({ page }) => {
  await watched(page);
  for (let n = 1; n <= 5; ++n) server.say("tick", scene_tick(kSmall, n));
  await expect(page.locator(".progress")).toContainText("4 of 50");
  const port = server.port;
  await server.close();
  await expect(page.locator(".link")).toHaveText("▲ lost: retrying");
  // It stays on the page, and what was there stays.
  await expect(page.locator(".progress")).toContainText("4 of 50");
  server = new LiveServer();
  server.runs = [entry_of("run-1")];
  await server.listen(port);
  await expect(page.locator(".link")).toHaveText("● live", { timeout: 20_000 });
  expect(server.asked.find((a) => a.path.endsWith("/stream"))?.last_event).toBe("5");
  server.say("tick", scene_tick(kSmall, 30));
  await expect(page.locator(".progress")).toContainText("25 of 50");
  await page.locator(".chart", { hasText: "latent_rms" }).getByRole("button").click();
  const row = page.locator("tr", { hasText: "latent_rms" });
  // One series: five readings of before the restart, and the least of them all since.
  await expect(row.locator("td").nth(0)).toHaveText("6");
  await expect(row.locator("td").nth(1)).toHaveText("0.85");
});

test("AStreamThatTheServerRefusesIsTriedAgain", async ({ page }) => {
  await watched(page);
  server.say("tick", scene_tick(kSmall, 1));
  const port = server.port;
  await server.close();
  server = new LiveServer("another");
  server.runs = [entry_of("run-1")];
  await server.listen(port);
  await expect(page.locator(".link")).toHaveText("✖ refused: open the address that genscope printed again", { timeout: 20_000 });
  await server.close();
  server = new LiveServer();
  server.runs = [entry_of("run-1")];
  await server.listen(port);
  await expect(page.locator(".link")).toHaveText("● live", { timeout: 20_000 });
});

test("AWrongTokenIsSaid", async ({ page }) => {
  for (const path of ["/", "/runs/run-1"]) {
    await page.goto(server.url(path).replace("secret", "wrong"));
    await expect(page.locator(".link")).toContainText("refused: open the address that genscope printed again");
  }
});

test("TheTokenMayBeInTheCookieAlone", async ({ page }) => {
  await page.goto(server.url("/api/v1/runs"));
  await page.goto(server.url("/").replace(/\?.*/, ""));
  await page.getByRole("link", { name: "fox in snow" }).click();
  await expect.poll(() => server.watched).toBe(1);
  expect(page.url()).not.toContain("token");
});

test("FreezeHoldsThePictureAndTheDataGoOn", async ({ page }) => {
  await watched(page);
  for (let n = 1; n <= 5; ++n) server.say("tick", scene_tick(kSmall, n));
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await page.getByRole("button", { name: "Freeze" }).click();
  const before = await pixels(page);
  for (let n = 6; n <= 30; ++n) server.say("tick", scene_tick(kSmall, n));
  await expect(page.locator(".banner")).toContainText("Frozen at 5\u202fs. Readings go on being collected, now at 30\u202fs");
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await page.waitForTimeout(400);
  expect(await pixels(page)).toBe(before);
  await page.getByRole("button", { name: "Go on" }).click();
  await expect(page.locator(".progress")).toContainText("25 of 50");
  await expect.poll(() => pixels(page)).not.toBe(before);
});

test("AFrozenPictureOutlivesTheRun", async ({ page }) => {
  await watched(page);
  server.say("tick", scene_tick(kSmall, 5));
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await page.getByRole("button", { name: "Freeze" }).click();
  server.say("end", { exit_code: 0 });
  await expect(page.locator(".banner[role=status]")).toHaveText("The run is over: ✓ ended 0.");
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await page.getByRole("button", { name: "Go on" }).click();
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
});

test("AMarkIsInTheAddressTheChartsAndTheReport", async ({ page }) => {
  await watched(page);
  for (let n = 1; n <= 5; ++n) server.say("tick", scene_tick(kSmall, n));
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await page.getByRole("button", { name: "Freeze" }).click();
  const before = await pixels(page);
  await page.getByLabel("Note").fill("turned <b>up</b> the batch");
  await page.getByRole("button", { name: "Mark this moment" }).click();
  await expect(page.locator(".live-marks")).toContainText("turned <b>up</b> the batch");
  await expect.poll(() => pixels(page)).not.toBe(before);
  await expect.poll(() => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("mark")).toBe("5000000000~5000000001~turned <b>up</b> the batch");
  await page.reload();
  await expect(page.locator(".live-marks")).toContainText("turned");
  await page.locator("#tab-timeline").click();
  await expect(page.locator(".marks input")).toHaveValue("turned <b>up</b> the batch");
});

test("TheReportIsAskedForAtMostEveryTenSeconds", async ({ page }) => {
  await page.clock.install();
  await watched(page);
  await expect.poll(() => server.count("/page")).toBe(1);
  server.say("tick", scene_tick(kSmall, 1));
  await page.clock.runFor(400);
  const button = page.getByRole("button", { name: "Refresh report" });
  await expect(button).toBeDisabled();
  await page.clock.runFor(10_000);
  server.say("tick", scene_tick(kSmall, 11));
  await expect.poll(async () => {
    await page.clock.runFor(300);
    return button.isEnabled();
  }).toBe(true);
  await button.click();
  await expect.poll(() => server.count("/page")).toBe(2);
  await page.clock.runFor(300);
  await expect(button).toBeDisabled();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download the report now" }).click();
  expect((await download).suggestedFilename()).toBe("report.html");
});

test("ARunThatHasRecordedNothingYetIsLiveWithoutAReport", async ({ page }) => {
  server.page = null;
  await watched(page);
  server.say("tick", scene_tick(kSmall, 2));
  await expect(page.locator(".progress")).toContainText("denoise");
  await expect(page.locator(".banner")).toContainText("nothing is recorded yet");
  await expect(page.getByRole("tab")).toHaveCount(1);
  server.page = demo_page();
  server.say("end", { exit_code: 1 });
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
});

test("ARunThatEndedBeforeIsItsReport", async ({ page }) => {
  server.runs = [entry_of("run-1", { in_progress: false, exit_code: 0 })];
  await page.goto(`${server.url("/runs/run-1")}#tab=timeline&view=1000000000~2000000000`);
  await expect(page.locator(".tl-canvas canvas")).toHaveAttribute("data-drawn", /\d/);
  expect(server.count("/stream")).toBe(0);
  await expect(page.locator("#tab-live")).toHaveCount(0);
  await expect.poll(() => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("view")).toBe("1000000000~2000000000");
  await page.getByRole("link", { name: "All runs" }).click();
  await expect(page.locator("h1")).toHaveText("Runs");
});

test("ARunThatHasJustBegunBecomesLive", async ({ page }) => {
  server.runs = [entry_of("run-1", { in_progress: false })];
  await watched(page);
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
  server.say("tick", scene_tick(kSmall, 1, { in_progress: false, processes: [] }));
  server.say("tick", scene_tick(kSmall, 5));
  await expect(page.locator("#tab-live")).toHaveAttribute("aria-selected", "true");
  await expect(page.locator(".progress")).toContainText("4 of 50");
});

test("ARunThatDiedBeforeIsItsReport", async ({ page }) => {
  server.runs = [entry_of("run-1", { in_progress: false })];
  await watched(page);
  for (let n = 1; n <= 3; ++n) server.say("tick", scene_tick(kSmall, n, { in_progress: false }));
  server.say("end", { exit_code: null });
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
  await expect.poll(() => server.watched).toBe(0);
  await expect(page.locator(".banner[role=status]")).toHaveCount(0);
});

test("RanksHaveColourGlyphAndWord", async ({ page }) => {
  await watched(page);
  for (let n = 10; n <= 14; ++n) server.say("tick", scene_tick(kRanks, n));
  await expect(page.locator(".rank-grid li")).toHaveCount(64);
  await expect(page.locator(".card", { has: page.locator(".rank-grid") }).locator("small").first()).toHaveText("61 ok, 1 slow, 1 ended, 1 lost");
  await expect(page.locator(".rank-grid li").nth(21)).toHaveText(/21 ▲ slow/);
  await expect(page.locator(".rank-grid li").nth(40)).toHaveText(/40 ✖ lost/);
  await expect(page.locator(".progress li")).toHaveCount(1);
  await expect(page.locator(".progress")).toContainText("62 processes");
});

test("AHiddenTabDrawsNothingAndCatchesUp", async ({ page }) => {
  await watched(page);
  for (let n = 1; n <= 5; ++n) server.say("tick", scene_tick(kSmall, n));
  await expect(page.locator(".progress")).toContainText("4 of 50");
  const hide = (on: boolean): Promise<void> =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, on);
  await hide(true);
  server.say("tick", scene_tick(kSmall, 30));
  await page.waitForTimeout(700);
  await expect(page.locator(".progress")).toContainText("4 of 50");
  await hide(false);
  await expect(page.locator(".progress")).toContainText("25 of 50");
});

const kHostile = ["<img src=x onerror=alert(1)>", "\u202egnp.exe", "</script><script>alert(2)</script>", "x".repeat(100_000), "__proto__", "nul\u0000\u001b[31m"];

test("HostileTextStaysText", async ({ page }) => {
  const wrong = errors(page);
  server.runs = kHostile.map((name, i) => entry_of(`id ${i} <b>'"&?#/..`.replace("/", "%"), { name, started: name }));
  await page.goto(server.url("/"));
  await expect(page.locator("tbody tr")).toHaveCount(kHostile.length);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  for (const box of await page.getByRole("checkbox").all()) if ((await page.getByRole("checkbox", { checked: true }).count()) < 2) await box.check();
  await expect(page.locator(".banner code")).toContainText("'id 1 <b>'\\''\"&?#%..'");
  const link = page.locator("th a").first();
  await link.click();
  await expect.poll(() => server.watched).toBe(1);
  expect(server.asked.some((a) => a.path === `/api/v1/runs/${String(server.runs[0]!["id"])}/stream`)).toBe(true);
  const tick = scene_tick(kSmall, 5) as { [key: string]: JsonObject[] };
  tick["processes"] = kHostile.map((stage, i) => ({ ...tick["processes"]![0]!, pid: i, rank: i, stage, last_stage: stage }));
  tick["values"] = kHostile.flatMap((name) => [{ name, entity: null, metric: null, unit: name, value: 1 }, { name: `${name}/x`, entity: name, metric: "x", unit: "", value: 2 }]);
  tick["alerts"] = kHostile.map((text) => ({ severity: text, text }));
  server.say("tick", tick as JsonObject);
  await expect(page.locator(".progress li")).toHaveCount(kHostile.length);
  expect(await page.evaluate(() => document.querySelectorAll("img, iframe, #app style").length + document.querySelectorAll("script").length)).toBe(await page.evaluate(() => document.querySelectorAll("head script, body > script").length));
  expect((await page.locator("main").innerText()).length).toBeLessThan(60_000);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(wrong).toEqual([]);
});

test("TheListOfRunsSortsSearchesAndRefreshes", async ({ page }) => {
  await page.clock.install();
  server.runs = [
    entry_of("b-running"),
    entry_of("a-ended", { in_progress: false, exit_code: 0, bytes: 9e9, wall_ns: 61e9, tags: ["baseline"], headline: "Denoise took 66% of 61 s.", stages: ["denoise 66%", "vae 11%"], findings: 2 }),
    entry_of("c-failed", { in_progress: false, exit_code: 3 }),
    entry_of("d-killed", { in_progress: false, exit_code: 137 }),
    entry_of("e-unknown", { in_progress: false, started: null }),
  ];
  await page.goto(server.url("/"));
  const names = page.locator("th a b");
  await expect(names).toHaveText(["b-running", "a-ended", "c-failed", "d-killed", "e-unknown"]);
  await expect(page.locator("tbody td:nth-child(2)")).toHaveText(["● running", "✓ ended 0", "✖ failed 3", "✖ killed, signal 9", "? unknown"]);
  await expect(page.locator("thead th")).toContainText(["Run", "State", "Started, UTC", "Took", "Stages", "Findings", "Tags", "Processes", "Size"]);
  await expect(page.locator("tbody tr:nth-child(2) td:nth-child(n+4)")).toContainText(["61", "denoise 66%, vae 11%", "2", "baseline"]);
  await expect(page.locator("tbody tr:nth-child(2) a")).toHaveAttribute("title", "Denoise took 66% of 61 s.");
  await expect(page.locator("tbody tr:nth-child(1) td:nth-child(n+4)")).toContainText(["–", "–", "–", "–"]);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(names.first()).toHaveText("a-ended");
  await page.keyboard.press("/");
  await page.clock.runFor(20);
  await page.keyboard.type("KILLED");
  await expect(names).toHaveText(["d-killed"]);
  await page.getByLabel("Search the runs").fill("");
  await page.getByRole("checkbox", { name: /a-ended/ }).check();
  await expect(page.locator(".banner")).toContainText("Tick two runs");
  await page.getByRole("checkbox", { name: /b-running/ }).check();
  await expect(page.locator(".banner code")).toHaveText("genscope compare a-ended b-running");
  server.runs = [entry_of("f-new"), ...server.runs];
  await page.clock.runFor(5100);
  await expect(names).toContainText(["f-new"]);
  server.runs = [];
  await page.clock.runFor(5100);
  await expect(page.locator(".empty")).toContainText("genscope run -- ");
});

test("BothPagesAreAccessibleAndFitAPhone", async ({ page }) => {
  for (const [width, scheme] of [[1440, "light"], [360, "dark"]] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(server.url("/"));
    await expect(page.locator("tbody tr")).toHaveCount(1);
    expect(await violations(page), `runs ${width}`).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    const before = server.watched;
    await page.goto(server.url("/runs/run-1"));
    await expect.poll(() => server.watched).toBeGreaterThan(before === 1 ? 0 : before);
    for (let n = 10; n <= 14; ++n) server.say("tick", scene_tick(kRanks, n, { alerts: [{ severity: "warning", text: "rank 21: a step takes 1.6 times the median rank's" }] }));
    await expect(page.locator(".rank-grid li")).toHaveCount(64);
    await page.getByRole("button", { name: "Freeze" }).click();
    await page.getByRole("button", { name: "Mark this moment" }).click();
    expect(await violations(page), `live ${width}`).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  }
});

test("TheKeyboardReachesEverything", async ({ page }) => {
  await watched(page);
  server.say("tick", scene_tick(kRanks, 12));
  await expect(page.locator(".rank-grid li")).toHaveCount(64);
  await page.locator("#tab-live").focus();
  const reached = new Set<string>();
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => (document.activeElement?.textContent || document.activeElement?.getAttribute("aria-label") || "").trim().slice(0, 24)));
  }
  for (const name of ["❚❚ Freeze", "Download the report now", "Note", "Mark this moment", "10 min", "Whole run"]) expect([...reached], name).toContain(name);
  await page.keyboard.press("2");
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true");
});
