import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

import { kOwnFields } from "../../own_fields";
import { kBundle, kLivePage } from "../make_page";

it.each([kBundle, kLivePage])("APageIsWithinItsBudget", (page) => {
  const bytes = readFileSync(page);
  expect(bytes.length).toBeLessThanOrEqual(160_000);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(60_000);
});

// Read from JSON by these names; roles, ids, classes and keys of the address, which name no field.
const kJson = ["begin", "alerts", "alive", "below_ns", "bucket_ns", "counters", "end_ns", "eta_seconds", "folded", "kinds", "lane", "last_stage", "most", "names", "note", "page", "panel", "parts", "pick", "stage_seconds", "step_seconds", "steps_done", "steps_total", "summarised", "track", "tracks"];

it("NoTextNamesAFieldThatTheBuildRenames", () => {
  const found = new Set<string>();
  for (const path of readdirSync("src", { recursive: true, encoding: "utf8" }).filter((p) => /\.tsx?$/.test(p))) {
    const code = readFileSync(`src/${path}`, "utf8").replace(/(class|key|title|hint|id|label|aria-label|rel)=?:? ?"[^"]*"/g, "");
    for (const [, text] of code.matchAll(/"(\w+)"/g)) if (kOwnFields.includes(text!) && !kJson.includes(text!)) found.add(`${path}: ${text}`);
  }
  expect([...found]).toEqual([]);
});
