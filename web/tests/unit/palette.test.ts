import { describe, expect, it } from "vitest";

import { channels, ink_on, kDark, kHues, kLight, luminance } from "../../src/ui/palette";

type Triple = [number, number, number];
const linear = (c: number): number => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
// Machado et al. 2009, severity 1.
const kSight: { [kind: string]: Triple[] } = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
function lab(hex: string, sight: Triple[]): Triple {
  const rgb = channels(hex).map(linear) as Triple;
  const [r, g, b] = sight.map((row) => Math.min(1, Math.max(0, row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2]))) as Triple;
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(f) as Triple;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const apart = (a: string, b: string, sight: Triple[]): number => {
  const [p, q] = [lab(a, sight), lab(b, sight)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
};
const contrast = (a: string, b: string): number => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
};

describe("Palette", () => {
  it("StaysApartForEveryKindOfSight", () => {
    for (const [theme, colours] of [["light", kLight], ["dark", kDark]] as const) {
      for (const [kind, sight] of Object.entries(kSight)) {
        for (let i = 0; i < kHues; ++i) {
          for (let j = 0; j < i; ++j) expect(apart(colours[i]!, colours[j]!, sight), `${theme} ${kind} ${colours[j]} ${colours[i]}`).toBeGreaterThan(12);
        }
      }
    }
  });
  it("CarriesReadableText", () => {
    for (const colour of [...kLight, ...kDark]) expect(contrast(colour, ink_on(colour)), colour).toBeGreaterThan(4.5);
  });
});
