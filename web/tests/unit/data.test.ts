import { describe, expect, it } from "vitest";

import type { JsonObject } from "../../src/data/container";
import { busy_between, counter_strip, overview_density } from "../../src/data/density";
import { chrome_trace, csv_cell, samples_csv, spans_csv, stages_csv } from "../../src/data/export";
import { fold, place_boxes, sandwich } from "../../src/data/flame";
import { cut, first_step_words, format_bytes, format_ns, format_ratio, format_tick, parse_time, tick_step, visible } from "../../src/data/format";
import { language_of } from "../../src/data/language";
import { finding_target } from "../../src/data/links";
import { owned_ns } from "../../src/data/owned";
import { read_page, type Page } from "../../src/data/page";
import { rank_table } from "../../src/data/ranks";
import { entity_title, shown_values } from "../../src/data/rates";
import { as_report } from "../../src/data/report";
import { find_spans, first_visible, gallop, matching_names, neighbour, span_at, upper_bound, view_span } from "../../src/data/search";
import { bucket_edge, durations_of, histogram, percentile, range_statistics, series_of } from "../../src/data/stats";
import { build_index, covered, longest_span } from "../../src/timeline/row_index";
import { raster_row, type Wide } from "../../src/timeline/strip";
import { demo_page, large_page, random } from "../demo";
import { encode_page, type SpanIn } from "../make_page";

const page_of = (spans: SpanIn[], names = ["a", "b", "c"], kinds = ["stage", "step", "none"]): Page =>
  read_page(encode_page({ names, kinds, tracks: [{ rank: 0, spans }], report: { run: { wall_ns: 100 } } }));
const nested = page_of([
  { begin: 0, duration: 100, name: 0, lane: 0 },
  { begin: 10, duration: 30, name: 1, lane: 1 },
  { begin: 12, duration: 5, name: 2, lane: 2 },
  { begin: 50, duration: 40, name: 1, lane: 1 },
  { begin: 55, duration: 10, name: 2, lane: 2 },
]);
const demo = read_page(encode_page(demo_page()));

describe("Search", () => {
  it("BoundsAgreeWithALinearScan", () => {
    const next = random(1);
    const column = Float64Array.from({ length: 500 }, () => Math.floor(next() * 300)).sort();
    for (let at = -1; at < 302; ++at) {
      const linear = column.findIndex((v) => v > at);
      expect(upper_bound(column, at)).toBe(linear < 0 ? 500 : linear);
      const from = Math.floor(next() * 500);
      let wanted = from;
      while (wanted < 500 && column[wanted]! < at) ++wanted;
      expect(gallop(column, at, from)).toBe(wanted);
    }
  });
  it("FindsByWordsWhateverTheirCase", () => {
    expect([...matching_names(["Vae Decode", "vae", "x"], "DECODE vae")]).toEqual([1, 0, 0]);
    expect([...matching_names(["a"], "  ")]).toEqual([0]);
    const hits = find_spans(nested, matching_names(nested.names, "c"));
    expect(hits.count).toBe(2);
    expect(hits.refs.map((r) => view_span(nested, r)!.begin)).toEqual([12, 55]);
  });
  it("FindsTheSpanUnderAPoint", () => {
    const track = nested.tracks[0]!;
    expect(span_at(track, 1, 60)!.place).toBe(1);
    expect(span_at(track, 1, 45)).toBeNull();
    expect(span_at(track, 1, 45, 6)).not.toBeNull();
    expect(span_at(track, 9, 45)).toBeNull();
    expect(first_visible(track.rows[1]!, 39)).toBe(0);
    expect(first_visible(track.rows[1]!, 41)).toBe(1);
  });
  it("WalksToNeighboursAcrossLanes", () => {
    const track = nested.tracks[0]!;
    const next = neighbour(track, { track: 0, lane: 2, place: 0 }, 1)!;
    expect(next).toEqual({ track: 0, lane: 1, place: 1 });
    expect(neighbour(track, { track: 0, lane: 0, place: 0 }, -1)).toBeNull();
  });
});

describe("Statistics", () => {
  it("CutsSpansAtTheRange", () => {
    const rows = range_statistics(nested, 20, 60);
    const of = (name: number) => rows.find((r) => r.name === name)!;
    expect(of(0)).toMatchObject({ count: 1, total: 40, min: 100, max: 100 });
    expect(of(1)).toMatchObject({ count: 2, total: 30 });
    expect(of(2)).toMatchObject({ count: 1, total: 5 });
  });
  it("TakesPercentilesByNearestRank", () => {
    const sorted = Float64Array.of(1, 2, 3, 4);
    expect([0, 0.25, 0.5, 0.95, 1].map((p) => percentile(sorted, p))).toEqual([1, 1, 2, 4, 4]);
    expect(percentile(new Float64Array(0), 0.5)).toBeNull();
  });
  it("CountsEveryValueInAHistogram", () => {
    for (const values of [Float64Array.of(5), Float64Array.of(1, 2, 3), Float64Array.from({ length: 1000 }, (_, i) => 1.01 ** i), Float64Array.of(0, 0, 9)]) {
      const h = histogram(values, 20);
      expect(h.counts.reduce((a, b) => a + b, 0)).toBe(values.length);
      expect(bucket_edge(h, 0)).toBeCloseTo(h.low);
      expect(bucket_edge(h, 20)).toBeCloseTo(h.high);
    }
    expect(histogram(new Float64Array(0), 5).counts.length).toBe(5);
  });
  it("GivesSeriesInTheOrderOfTime", () => {
    expect([...durations_of(nested, 1)]).toEqual([30, 40]);
    const series = series_of(demo, (n) => demo.kinds[n] === "step");
    expect(series.at.length).toBe(96);
    expect([...series.at]).toEqual([...series.at].sort((a, b) => a - b));
  });
});

describe("Flame", () => {
  it("FoldsByPathWithSelfTime", () => {
    const flame = fold(nested, nested.tracks);
    expect(flame.name).toEqual([-1, 0, 1, 2]);
    expect(flame.total).toEqual([100, 100, 70, 15]);
    expect(flame.self.slice(1)).toEqual([30, 55, 15]);
    expect(flame.count.slice(1)).toEqual([1, 2, 2]);
  });
  it("PlacesBoxesInsideTheirParents", () => {
    const flame = fold(demo, demo.tracks);
    const boxes = place_boxes(flame, 0, 0.001);
    const by = new Map(boxes.map((b) => [b.node, b]));
    for (const box of boxes) {
      const parent = by.get(flame.parent[box.node]!);
      if (parent) {
        expect(box.from).toBeGreaterThanOrEqual(parent.from - 1e-9);
        expect(box.to).toBeLessThanOrEqual(parent.to + 1e-9);
      }
    }
  });
  it("TurnsCallersRoundInASandwich", () => {
    const { up, down } = sandwich(fold(nested, nested.tracks), 1, 3);
    expect(up.name).toEqual([-1, 0]);
    expect(down.name).toEqual([-1, 2]);
    expect(down.total).toEqual([70, 15]);
  });
  it("CountsRecursionOnce", () => {
    const page = page_of([{ begin: 0, duration: 100, name: 0 }, { begin: 1, duration: 90, name: 0, lane: 1 }]);
    expect(sandwich(fold(page, page.tracks), 0, 3).down.total[0]).toBe(100);
  });
});

describe("Density", () => {
  it("AddsUpToTheCoveredTime", () => {
    const page = page_of([{ begin: 3, duration: 44, name: 0 }, { begin: 60, duration: 1, name: 0 }]);
    expect(overview_density(page, 10).reduce((a, b) => a + b, 0)).toBeCloseTo(4.5);
  });
  it("TakesTheLevelThatFits", () => {
    const levels = [{ bucket_ns: 10, count: new Uint32Array(4), busy: Uint16Array.of(65535, 0, 65535, 0) }, { bucket_ns: 40, count: new Uint32Array(1), busy: Uint16Array.of(32768) }];
    const summarised = { spans: 1, below_ns: 1, levels };
    expect(busy_between(summarised, 0, 10)).toBeCloseTo(1);
    expect(busy_between(summarised, 5, 15)).toBeCloseTo(0.5);
    expect(busy_between(summarised, 0, 40)).toBeCloseTo(0.5, 3);
    expect(busy_between(summarised, 40, 80)).toBe(0);
  });
  it("KeepsPeaksAndHoldsLevels", () => {
    const at = Float64Array.of(10, 20, 21, 80);
    const value = Float64Array.of(1, 9, 2, 5);
    const { low, high } = counter_strip(at, value, 0, 100, 10);
    expect(high[0]).toBeNaN();
    expect(high[2]).toBe(9);
    expect(low[2]).toBe(1);
    expect(high[5]).toBe(2);
    expect(high[9]).toBeNaN();
  });
  it("TurnsGrowingCountersIntoRates", () => {
    const counter = { id: 0, name: "", entity: "tree", metric: "cpu_ns", unit: "ns", pid: null, at: Float64Array.of(0, 1e9, 2e9, 3e9), value: Float64Array.of(0, 2e9, 1e9, 1.5e9) };
    const shown = shown_values(counter);
    expect(shown.unit).toBe("cores");
    expect([...shown.value]).toEqual([2, NaN, 0.5]);
    expect(shown_values({ ...counter, metric: "rss_bytes" }).value).toBe(counter.value);
  });
});

describe("Strip", () => {
  const page = read_page(encode_page(large_page(20_000, 1, 2)));
  const row = page.tracks[0]!.rows[0]!;
  const index = build_index(row);
  it("KnowsTheLongestAndTheCover", () => {
    let best = 0;
    let sum = 0;
    for (let i = 0; i < row.begin.length; ++i) {
      if (row.end[i]! - row.begin[i]! > row.end[best]! - row.begin[best]!) best = i;
      sum += row.end[i]! - row.begin[i]!;
    }
    const found = longest_span(row, index, 0, row.begin.length);
    expect(row.end[found]! - row.begin[found]!).toBe(row.end[best]! - row.begin[best]!);
    expect(covered(row, index, 0, row.begin.length)).toBeLessThanOrEqual(sum);
    expect(covered(row, index, 0, row.begin.length)).toBeGreaterThan(sum * 0.98);
    expect(covered(row, index, 3, 9)).toBe(row.end.slice(3, 9).reduce((a, e, i) => a + e - row.begin[3 + i]!, 0));
  });
  it("DrawsEverySpanSomewhere", () => {
    for (const [begin, end] of [[0, page.end_ns], [0, 200_000], [page.end_ns / 2, page.end_ns / 2 + 5000]] as const) {
      const strip = new Uint32Array(800);
      const wide: Wide = { x: [], width: [], name: [], place: [] };
      raster_row(row, index, begin, end, 800, new Uint32Array(200).fill(0x112233), strip, 0, wide);
      const scale = 800 / (end - begin);
      const wides = new Set(wide.place);
      for (let i = first_visible(row, begin); i < row.begin.length && row.begin[i]! < end; ++i) {
        const pixel = Math.max(0, Math.floor((row.begin[i]! - begin) * scale));
        expect(wides.has(i) || strip[pixel] !== 0).toBe(true);
      }
    }
  });
});

describe("Links", () => {
  it("PointsToTheFirstStepAndToNamedStages", () => {
    const [first, load, memory, gpu] = demo.report!.findings.map((f) => finding_target(demo, f));
    expect(view_span(demo, first!.span)!.begin).toBe(2510e6);
    expect(load!.query).toBe("load_model");
    expect(memory!.query).toBe("vae_decode");
    expect(gpu).toBeNull();
  });
});

describe("Ranks", () => {
  it("ComparesWithTheMedianRank", () => {
    const table = rank_table(demo);
    expect(table.ranks).toEqual([0, 1]);
    const denoise = table.stages.indexOf("denoise");
    expect(table.median[denoise]).toBeCloseTo((table.total[denoise]![0]! + table.total[denoise]![1]!) / 2);
  });
});

describe("Export", () => {
  it("GuardsCellsOfCsv", () => {
    expect(csv_cell("=1+1")).toBe("'=1+1");
    expect(csv_cell('a,"b"')).toBe('"a,""b"""');
    expect(csv_cell(-5)).toBe("-5");
    expect(csv_cell(null)).toBe("");
  });
  it("WritesARowPerSpanAndReading", () => {
    const spans = demo.tracks.reduce((n, t) => n + t.spans, 0);
    expect([...spans_csv(demo)].join("").trimEnd().split("\r\n").length).toBe(spans + 1);
    expect([...samples_csv(demo)].join("").split("\r\n").length).toBeGreaterThan(1000);
    expect(stages_csv(demo).split("\r\n")[0]).toContain("name,kind,count");
  });
  it("WritesJsonThatParses", () => {
    const trace = JSON.parse([...chrome_trace(demo)].join("")) as { traceEvents: { ph: string }[] };
    expect(trace.traceEvents.filter((e) => e.ph === "X").length).toBe(demo.tracks.reduce((n, t) => n + t.spans, 0));
  });
});

describe("Format", () => {
  const plain = (text: string): string => text.replaceAll("\u202f", " ");
  it("WritesTimesAsPeopleReadThem", () => {
    expect([0, 12, 999.7, 1234, 1_500_000, 12.34e9, 3723e9, null].map((ns) => plain(format_ns(ns)))).toEqual(["0 ns", "12 ns", "1 µs", "1.23 µs", "1.50 ms", "12.3 s", "1:02:03 h", "–"]);
    expect(plain(format_bytes(1536))).toBe("1.50 KiB");
    expect(plain(format_ratio(0.654))).toBe("65 %");
    expect(plain(format_ratio(0.0042))).toBe("0.42 %");
    expect(plain(format_tick(1.25e9, 5e7))).toBe("1.25 s");
    expect(tick_step(10, 5)).toBe(2);
  });
  it("ReadsTimesThatPeopleType", () => {
    expect([" 12.5 s", "300ms", "2min", "7", "x", "1e3 us"].map(parse_time)).toEqual([12.5e9, 300e6, 120e9, 7e9, null, 1e6]);
  });
  it("ShowsMarksThatHideOrTurnText", () => {
    expect(visible("a\u202eb\u0000c\u200b")).toBe("a\ufffdb\u2400c\ufffd");
    expect(cut("x".repeat(1000)).length).toBe(513);
  });
});

describe("Owned", () => {
  it("AStageOwnsWhatItSpendsInStepsAndNotInOtherStages", () => {
    const page = page_of(
      [
        { begin: 0, duration: 100, name: 0, lane: 0 },
        { begin: 10, duration: 80, name: 1, lane: 1 },
        { begin: 20, duration: 30, name: 2, lane: 2 },
        { begin: 60, duration: 10, name: 0, lane: 2 },
      ],
      ["outer", "step", "inner"],
      ["stage", "step", "load"],
    );
    expect([...owned_ns(page)].sort()).toEqual([["inner", 30], ["outer", 70]]);
  });
});

describe("Rates", () => {
  it("TwoReadingsAtNearlyOneMomentCountAsOne", () => {
    const at = Float64Array.from([0, 1, 100e6, 200e6, 300e6, 400e6]);
    const value = Float64Array.from([0, 1e6, 51e6, 101e6, 151e6, 201e6]);
    const shown = shown_values({ id: 0, name: "tree/cpu_ns", entity: "tree", metric: "cpu_ns", unit: "ns", pid: 1, at, value });
    expect([...shown.at]).toEqual([100e6, 200e6, 300e6, 400e6]);
    expect(shown.value[0]).toBeCloseTo(0.51);
    const two = shown_values({ id: 0, name: "", entity: "tree", metric: "cpu_ns", unit: "ns", pid: 1, at: Float64Array.of(5, 5), value: Float64Array.of(1, 1) });
    expect([...two.value]).toEqual([NaN]);
    expect(shown.value[1]).toBeCloseTo(0.5);
  });
});

describe("Words", () => {
  it("TheFirstStepIsSetAgainstTheOthers", () => {
    expect([4.68, 1.97, 1.31, 1.02, 0.97, 0.9, 24.4].map(first_step_words)).toEqual([
      "4.7 times as long as the others", "2.0 times as long as the others", "31\u202f% longer than the others", "as long as the others",
      "as long as the others", "10\u202f% shorter than the others", "24 times as long as the others",
    ]);
  });
  it("TheLanguageIsThatOfTheProgram", () => {
    const run = (more: object) => as_report({ recorder: { spans: 3 }, ...more } as JsonObject);
    expect(language_of(run({ run: { command: ["/usr/bin/python3.11", "generate.py"] } }))).toBe("Python");
    expect(language_of(run({ run: { command: ["env", "A=1", "torchrun", "x.py"] } }))).toBe("Python");
    expect(language_of(run({ run: { command: ["./generate.sh"] }, instrument: [{ target: "torch", hooked: true }] }))).toBe("Python");
    expect(language_of(run({ run: { command: ["./build/pipeline", "--steps", "8"] } }))).toBe("C++");
    expect(language_of(run({ run: { command: ["./generate.sh"] }, recorder: { spans: 0 } }))).toBeNull();
    expect(language_of(run({}))).toBeNull();
  });
  it("EntitiesOfProbesHaveNames", () => {
    expect(["tree", "machine", "package-1", "cgroup:/user.slice", "GPU-1"].map(entity_title)).toEqual(["this run", "the machine", "CPU 1", "control group", "GPU-1"]);
  });
});
