import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

import { kBundle } from "../make_page";

it("TheBundleIsWithinItsBudget", () => {
  const bytes = readFileSync(kBundle);
  expect(bytes.length).toBeLessThanOrEqual(160_000);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(60_000);
});
