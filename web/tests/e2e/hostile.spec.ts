// Names, arguments, prompts and paths that try to be something else than text.
import { expect, test } from "@playwright/test";

import type { JsonObject } from "../../src/data/container";
import { demo_compare, demo_page } from "../demo";
import { go, kTabs, open, overflow, watch, write_page } from "./util";

const kHostile = [
  "<script>alert(1)</script>",
  "</script><script>alert(2)</script>",
  '"><img src=x onerror=alert(3)>',
  "<svg onload=alert(4)>",
  "'-alert(5)-'",
  "javascript:alert(6)",
  "&lt;b&gt;&amp;",
  "\u202egnp.exe\u202c \u2066left\u2069 \u200b",
  "nul\u0000inside\u0007\u001b[31m",
  "{{7*7}} ${alert(8)}",
  "<style>*{display:none}</style>",
  "x".repeat(1_000_000),
  "\ud800 lone surrogate",
  "__proto__",
  "",
];

// Every string of a report replaced, keys kept.
function poison(value: unknown, next: () => string): unknown {
  if (typeof value === "string") return next();
  if (Array.isArray(value)) return value.map((v) => poison(v, next));
  if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === "schema" || k === "kind" ? v : poison(v, next)]));
  return value;
}

test("HostileTextStaysText", async ({ page }) => {
  test.setTimeout(180_000);
  const trouble = watch(page);
  const input = demo_page();
  let i = 0;
  const next = (): string => kHostile[i++ % kHostile.length]!;
  input.report = poison(input.report, next) as JsonObject;
  input.names = input.names.map((_, k) => kHostile[k % kHostile.length]!);
  for (const track of input.tracks) {
    track.name = next();
    track.process = next();
    for (const span of track.spans.slice(0, 40)) span.args = { [next().slice(0, 300)]: next(), prompt: kHostile[0]!, path: "/a/<b>/" };
  }
  for (const counter of input.counters ?? []) counter.name = next();
  const url = write_page("hostile", input);
  await open(page, url);
  for (const tab of kTabs) {
    await go(page, `#tab=${tab}&span=0.1.2&q=alert&stage=${encodeURIComponent(kHostile[0]!)}&mark=1~2~${encodeURIComponent(kHostile[1]!)}`);
    await page.waitForTimeout(100);
    expect(await page.evaluate(() => document.querySelectorAll("script").length), tab).toBe(1);
    expect(await page.evaluate(() => document.querySelectorAll("img, iframe, object, #app style").length), tab).toBe(0);
    expect((await page.locator(".panel").innerText()).length, tab).toBeLessThan(400_000);
    expect(await overflow(page), tab).toBeLessThanOrEqual(0);
  }
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".paper")).toHaveCount(kTabs.length - 1);
  expect(trouble).toEqual([]);
});

test("AHostileComparisonStaysText", async ({ page }) => {
  const trouble = watch(page);
  const input = demo_compare();
  let i = 0;
  const next = (): string => kHostile[i++ % kHostile.length]!;
  input.compare = poison(input.compare, next) as JsonObject;
  for (const run of input.outlines!.runs) {
    [run.name, run.path] = [next(), next()];
    run.stages = run.stages.map(([, begin, length]) => [next(), begin, length]);
  }
  for (const run of input.runs!) {
    run.names = run.names.map(next);
    for (const track of run.tracks) [track.name, track.process] = [next(), next()];
  }
  await open(page, write_page("hostile-compare", input));
  for (const tab of await page.getByRole("tab").all()) {
    await tab.click();
    expect(await page.evaluate(() => document.querySelectorAll("script").length)).toBe(1);
    expect(await page.evaluate(() => document.querySelectorAll("img, iframe, object, #app style").length)).toBe(0);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  }
  expect(trouble).toEqual([]);
});

test("AnAddressStaysText", async ({ page }) => {
  const trouble = watch(page);
  const text = encodeURIComponent(kHostile.filter((h) => h.length < 1000 && h.isWellFormed()).join(" "));
  await open(page, write_page("hostile-address", demo_page()), `#tab=timeline&q=${text}&stage=${text}&pins=${text}&folded=${text}&mark=1~2~${text}&theme=${text}&view=${text}`);
  await expect(page.getByLabel("Note", { exact: true })).toHaveCount(1);
  expect(await page.evaluate(() => document.querySelectorAll("script").length)).toBe(1);
  expect(await page.evaluate(() => document.querySelectorAll("img, iframe, object, #app style").length)).toBe(0);
  expect(trouble).toEqual([]);
});

test("ThePolicyForbidsAddedScriptsAndRequests", async ({ page }) => {
  await open(page, write_page("policy", demo_page()));
  const ran = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    const image = await new Promise<string>((done) => {
      const img = new Image();
      img.onload = () => done("loaded");
      img.onerror = () => done("blocked");
      img.src = "http://127.0.0.1:9/x.png";
    });
    const asked = await fetch("http://127.0.0.1:9/").then(() => "asked", () => "blocked");
    return [(window as unknown as { ran?: boolean }).ran === true, image, asked];
  });
  expect(ran).toEqual([false, "blocked", "blocked"]);
});
