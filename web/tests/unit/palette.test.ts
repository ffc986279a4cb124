import { describe, expect, it } from "vitest";

import { neighbours_of } from "../../src/data/neighbours";
import { read_page } from "../../src/data/page";
import { channels, ink_on, kDark, kHues, kLight, luminance, name_colours } from "../../src/ui/palette";
import { demo_compare, demo_page } from "../demo";
import { encode_page, type PageIn, type SpanIn } from "../make_page";

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

// As tinydiff records: layers inside steps inside a stage, each layer with its kernels.
function layers(): PageIn {
  const names = ["tinydiff", "load_model", "text_encoding", "denoising", "vae_decode", "step", "forward", "block", "attention", "mlp", "conv", "matmul_tiles", "attention_tiles", "norm", "unpack"];
  const id = (name: string): number => names.indexOf(name);
  const spans: SpanIn[] = [];
  const add = (name: string, begin: number, duration: number, lane: number): unknown => spans.push({ name: id(name), begin, duration, lane });
  add("tinydiff", 0, 100_000, 0);
  add("load_model", 10, 500, 1);
  add("unpack", 20, 100, 2);
  add("text_encoding", 600, 900, 1);
  add("attention", 610, 100, 2);
  add("mlp", 720, 100, 2);
  add("denoising", 2000, 80_000, 1);
  for (let step = 0; step < 12; ++step) {
    const at = 2000 + step * 6000;
    add("step", at, 5900, 2);
    add("forward", at + 10, 5000, 3);
    for (let block = 0; block < 3; ++block) {
      const from = at + 20 + block * 1600;
      add("block", from, 1500, 4);
      ["norm", "attention", "norm", "mlp", "conv"].forEach((name, k) => {
        add(name, from + k * 290, 280, 5);
        add(name === "attention" ? "attention_tiles" : "matmul_tiles", from + k * 290 + 5, 200, 6);
      });
    }
  }
  add("vae_decode", 90_000, 9000, 1);
  add("conv", 90_010, 4000, 2);
  add("matmul_tiles", 90_020, 3000, 3);
  const kinds = names.map((name) => (name === "tinydiff" ? "session" : name === "step" ? "step" : name === "load_model" ? "load" : ["text_encoding", "denoising", "vae_decode"].includes(name) ? "stage" : "none"));
  return { names, kinds, tracks: [{ spans: spans.sort((a, b) => a.begin - b.begin || a.lane! - b.lane!) }], report: {} };
}

describe("Colours of names", () => {
  it.each([["tinydiff", layers()], ["a demo", demo_page()], ["a comparison", demo_compare()]])("DifferAmongNeighboursInBothThemes: %s", (_, made) => {
    const page = read_page(encode_page(made));
    const colours = name_colours(page);
    const { near } = neighbours_of(page);
    let pairs = 0;
    near.forEach((others, a) => {
      for (const b of others.keys()) {
        if (page.kinds[a] === "session" || page.kinds[b] === "session") continue; // grey, around all
        for (const palette of [kLight, kDark]) {
          for (const sight of Object.values(kSight)) {
            expect(apart(palette[colours[a]!]!, palette[colours[b]!]!, sight), `${page.names[a]} beside ${page.names[b]}`).toBeGreaterThan(sight === kSight["normal"] ? 20 : 12);
          }
        }
        ++pairs;
      }
    });
    expect(pairs).toBeGreaterThan(20);
  });

  it("StepAndItsKernelsAreFourColours", () => {
    const page = read_page(encode_page(layers()));
    const colours = name_colours(page);
    const of = ["step", "matmul_tiles", "attention_tiles", "conv"].map((name) => colours[page.names.indexOf(name)]);
    expect(new Set(of).size).toBe(4);
  });

  it("AreTheSameEachTimeAndNeutralForSessionsAlone", () => {
    const page = read_page(encode_page(layers()));
    const colours = name_colours(page);
    expect(name_colours(page)).toEqual(colours);
    expect([...colours].map((c) => c === kHues)).toEqual(page.kinds.map((kind) => kind === "session"));
  });

  it("ALargePageIsLookedAtInSamples", () => {
    const spans = Array.from({ length: 300_000 }, (_, i) => ({ name: i % 2, begin: i * 10, duration: 9 }));
    const page = read_page(encode_page({ names: ["a", "b"], kinds: ["none", "none"], tracks: [{ spans }], report: {} }));
    const { near } = neighbours_of(page);
    expect(near[0]!.get(1)).toBeGreaterThan(50_000);
    expect(near[0]!.get(1)).toBeLessThan(100_001);
  });
});
