// Screenshots of every section for people to look at: npm run shots; SHOTS=folder, TABS=a,b.
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "@playwright/test";

import { demo_compare, demo_page } from "../demo";
import { encode_page, fill_bundle } from "../make_page";

const out = process.env["SHOTS"] ?? "/tmp/shots";
const all = (process.env["TABS"] ?? "summary,timeline,stages,findings,gpu,host,idle,memory,flame,ranks,system,data,compare,compare-runs,compare-timeline,compare-difference").split(",");

test.beforeAll(() => {
  mkdirSync(out, { recursive: true });
  writeFileSync(`${out}/demo.html`, fill_bundle(encode_page(demo_page())));
  writeFileSync(`${out}/compare.html`, fill_bundle(encode_page(demo_compare())));
});

const kSizes = [[400, 800], [1440, 900], [3840, 2160]].flatMap(([width, height]) => (["light", "dark"] as const).map((scheme) => [`${width}-${scheme}`, width!, height!, scheme] as const));
for (const [name, width, height, scheme] of kSizes) {
  test(name, async ({ browser }) => {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    page.on("console", (message) => console.log(name, message.text()));
    page.on("pageerror", (error) => console.log(name, error.message));
    for (const tab of all) {
      const file = tab.startsWith("compare") ? "compare" : "demo";
      const more = tab === "stages" ? "&stage=step" : tab === "timeline" ? "&span=0.1.2" : "";
      await page.goto("about:blank");
      await page.goto(`file://${out}/${file}.html#tab=${tab.replace("compare-", "")}${more}`);
      await page.waitForSelector(".panel", { timeout: 10_000 }).catch(() => console.log(name, tab, "no panel"));
      await page.waitForTimeout(350);
      await page.screenshot({ path: `${out}/${name}-${tab}.png`, fullPage: !tab.endsWith("timeline") });
    }
  });
}
