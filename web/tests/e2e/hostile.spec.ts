// Names, arguments, prompts and paths that try to be something else than text.
import { expect, test } from "@playwright/test";

import type { JsonObject } from "../../src/data/container";
import { demo_page } from "../demo";
import { kTabs, open, watch, write_page } from "./util";

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
  for (const tab of kTabs) {
    await open(page, url, `#tab=${tab}&span=0.1.2`);
    await page.waitForTimeout(100);
    expect(await page.evaluate(() => document.querySelectorAll("script").length), tab).toBe(1);
    expect(await page.evaluate(() => document.querySelectorAll("img, iframe, object, #app style").length), tab).toBe(0);
    expect((await page.locator(".panel").innerText()).length, tab).toBeLessThan(400_000);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(over, tab).toBeLessThanOrEqual(0);
  }
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
