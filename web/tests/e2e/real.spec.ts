// A page that genscope itself wrote: GENSCOPE_REPORT=report.html npm run e2e. Its data are put into the
// bundle of this tree, so that both sides of docs/page-data.md are tested together.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";

import { fill_text } from "../make_page";
import { open, watch, write_html } from "./util";

const path = process.env["GENSCOPE_REPORT"];

test("ARealReportShowsEverySection", async ({ page }) => {
  test.skip(path === undefined, "GENSCOPE_REPORT names no report");
  const data = /id="genscope-data">([^<]+)</.exec(readFileSync(path ?? "", "utf8"))?.[1];
  expect(data).toBeTruthy();
  const trouble = watch(page);
  await open(page, write_html("real", fill_text(data ?? "")));
  for (const tab of await page.getByRole("tab").all()) {
    await tab.click();
    expect((await page.locator(".panel").innerText()).length).toBeGreaterThan(20);
    if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/real-${await tab.getAttribute("id")}.png` });
  }
  await page.locator("#tab-timeline").click();
  await expect(page.locator(".tl-canvas canvas")).toHaveAttribute("data-drawn", /\d/);
  expect(trouble).toEqual([]);
});
