import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

import { kBundle, kLivePage } from "../make_page";

it.each([kBundle, kLivePage])("APageIsWithinItsBudget", (page) => {
  const bytes = readFileSync(page);
  expect(bytes.length).toBeLessThanOrEqual(200_000);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(75_000);
});
