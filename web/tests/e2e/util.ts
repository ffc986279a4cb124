import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page } from "@playwright/test";

import { encode_page, fill_bundle, type PageIn } from "../make_page";

const folder = join(tmpdir(), `genscope-web-${process.pid}`);
mkdirSync(folder, { recursive: true });

export function write_html(name: string, html: string): string {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, html);
  return `file://${path}`;
}
export const write_page = (name: string, page: PageIn): string => write_html(name, fill_bundle(encode_page(page)));

// Opens a page afresh; what it says or asks for goes into `trouble`.
export async function open(page: Page, url: string, hash = ""): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${url}${hash}`);
  await expect(page.locator(".panel")).toBeVisible();
}
// Another state of a page that is open: much faster than opening it again.
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate((h) => (location.hash = h), hash);
  const tab = new URLSearchParams(hash.slice(1)).get("tab");
  if (tab) await expect(page.locator(`#tab-${tab}`)).toHaveAttribute("aria-selected", "true");
}
export const overflow = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
export function watch(page: Page): string[] {
  const trouble: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") trouble.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => trouble.push(`error: ${e.message}`));
  page.on("dialog", (d) => {
    trouble.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on("request", (r) => {
    if (!r.url().startsWith("file://") && !r.url().startsWith("data:") && !r.url().startsWith("blob:") && r.url() !== "about:blank") trouble.push(`request: ${r.url().slice(0, 200)}`);
  });
  return trouble;
}
export const hash_of = (page: Page): URLSearchParams => new URLSearchParams(new URL(page.url()).hash.slice(1));
export async function view_of(page: Page): Promise<[number, number] | null> {
  // By the page's own clock: on a busy machine its timers are late, but in order.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200))));
  const text = hash_of(page).get("view");
  return text === null ? null : (text.split("~").map(Number) as [number, number]);
}
export const kCompareTabs = ["compare", "runs", "timeline", "difference", "data"];
export const kTabs = ["summary", "timeline", "stages", "findings", "gpu", "host", "idle", "memory", "flame", "ranks", "system", "data"];
