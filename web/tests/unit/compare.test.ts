import { describe, expect, it } from "vitest";

import { align, pair_up } from "../../src/data/aligned";
import { common_stages, median, shifts, time_of_stage } from "../../src/data/outlines";
import { PageError, type Json } from "../../src/data/container";
import { diff_flames, generations } from "../../src/data/flame_diff";
import { linked } from "../../src/data/flow";
import { read_page, type Page, type Run } from "../../src/data/page";
import { neighbour, ref_of, spans_between, view_span } from "../../src/data/search";
import { band_totals, throttle_bands } from "../../src/data/throttle";
import { demo_compare, demo_page } from "../demo";
import { container, encode_page, type SpanIn } from "../make_page";

const kNames = ["load", "denoise", "decode", "all", "step", "extra"];
const kKinds = ["stage", "stage", "stage", "session", "step", "stage"];
const run = (spans: SpanIn[], names = kNames, kinds = kKinds): Run =>
  read_page(encode_page({ names, kinds, tracks: [{ spans: [] }, { spans }], report: { run: { wall_ns: 100 } } }));

const before = run([
  { begin: 0, duration: 100, name: 3, lane: 0 },
  { begin: 10, duration: 10, name: 0, lane: 1 },
  { begin: 25, duration: 50, name: 1, lane: 1 },
  { begin: 30, duration: 20, name: 4, lane: 2 },
  { begin: 80, duration: 10, name: 2, lane: 1 },
]);
const after = run([
  { begin: 0, duration: 90, name: 3, lane: 0 },
  { begin: 5, duration: 20, name: 0, lane: 1 },
  { begin: 30, duration: 8, name: 5, lane: 1 },
  { begin: 40, duration: 30, name: 1, lane: 1 },
  { begin: 45, duration: 5, name: 4, lane: 2 },
  { begin: 75, duration: 10, name: 2, lane: 1 },
]);

describe("Outlines", () => {
  const outlines = read_page(encode_page(demo_compare())).outlines!;
  it("AreReadWithTheirSeries", () => {
    expect(outlines.left_out).toBe(2);
    expect(outlines.runs.map((r) => r.label)).toEqual(["before 1", "before 2", "before 3", "before 4", "after 1", "after 2", "after 3", "after 4"]);
    const first = outlines.runs[0]!;
    expect(first.step.length).toBe(48);
    expect(first.stages[1]).toEqual({ name: "text_encoding", begin: 2.4e9, end: 3e9 });
    expect(first.series.map((s) => s.metric)).toEqual(["rss_bytes", "cpu_ns"]);
  });
  it("LineUpAtAStageThatAllHave", () => {
    expect(common_stages(outlines.runs)).toEqual(["load_model", "text_encoding", "denoise", "vae_decode"]);
    const lacking = [outlines.runs[0]!, { ...outlines.runs[1]!, stages: outlines.runs[1]!.stages.slice(2) }];
    expect(common_stages(lacking)).toEqual(["denoise", "vae_decode"]);
    expect(shifts(lacking, "denoise")).toEqual([3.1e9, 3.1e9]);
    expect(shifts(lacking, "")).toEqual([0, 0]);
    expect(shifts(lacking, "load_model"), "a run without it stays").toEqual([0.2e9, 0]);
  });
  it("HaveFiguresOnlyForWhatIsThere", () => {
    expect(time_of_stage(outlines.runs[0]!, "vae_decode")).toBe(1.5e9);
    expect(time_of_stage(outlines.runs[0]!, "nothing")).toBeNull();
    expect(median(new Float64Array())).toBeNull();
    expect(median(Float64Array.of(3, 1))).toBe(2);
  });
  it("OfDamagedPagesAreRefusedInWords", () => {
    const page = (outlines: unknown): Uint8Array => container({ schema: "genscope.page/1", mode: "compare", compare: {}, outlines } as Json, new Uint8Array(16));
    const step = { at: 0, n: 1, type: "f64" };
    const none = { at: 0, n: 0, type: "f64" };
    expect(read_page(page(null)).outlines).toBeNull();
    expect(read_page(page({ runs: [] })).outlines).toBeNull();
    for (const runs of [[1], [{ step: { at: 0, n: 9, type: "f64" } }], [{ step_begin: none, step }], [{ step_begin: step, step, stages: [7] }], [{ step_begin: step, step, series: [{ at: step, value: none }] }], [{ step_begin: step, step, series: [3] }]]) {
      expect(() => read_page(page({ runs })), JSON.stringify(runs)).toThrow(PageError);
    }
    const many = Array.from({ length: 20 }, () => ({ step_begin: step, step, stages: [["s", "x", -5]] }));
    expect(read_page(page({ runs: many })).outlines!.runs.length).toBe(8);
  });
});

describe("Aligned", () => {
  it("PairsTheLongestCommonOrder", () => {
    expect(pair_up(["a", "b", "c"], ["b", "c", "a"])).toEqual([[1, 0], [2, 1]]);
    expect(pair_up(["a", "a"], ["a"])).toEqual([[0, 0]]);
    expect(pair_up([], ["a"])).toEqual([]);
  });
  it("BeginsCommonStagesTogetherAndKeepsDurations", () => {
    const both = align(before, after)!;
    const spans = (t: number): { [name: string]: [number, number] } =>
      Object.fromEntries(both.tracks[t]!.rows.flatMap((row) => Array.from(row.begin, (b, i) => [both.names[row.name[i]!]!, [b, row.end[i]! - b]])));
    const [was, is] = [spans(0), spans(1)];
    for (const stage of ["load", "denoise", "decode"]) expect(was[stage]![0], stage).toBe(is[stage]![0]);
    expect(was["denoise"]![1]).toBe(50);
    expect(is["denoise"]![1]).toBe(30);
    expect(is["extra"]).toEqual([35, 8]);
    // It goes over the begins of stages, so it has no length here.
    expect(was["all"]).toBeUndefined();
    expect(both.tracks.map((t) => t.process)).toEqual(["before", "after"]);
  });
  it("KeepsRowsSortedWithoutOverlap", () => {
    const page = read_page(encode_page(demo_compare()));
    for (const track of page.tracks) {
      for (const row of track.rows) for (let i = 1; i < row.begin.length; ++i) expect(row.begin[i]!).toBeGreaterThanOrEqual(row.end[i - 1]!);
    }
    expect(page.tracks.length).toBe(2);
    // Numbers of left out spans are skipped.
    const first = ref_of(page.tracks[0]!, 1)!;
    expect(neighbour(page.tracks[0]!, first, 1)).not.toBeNull();
    expect(neighbour(page.tracks[0]!, first, -1)).toBeNull();
  });
  it("HasNothingToAlignWithoutCommonStages", () => {
    expect(align(before, run([{ begin: 0, duration: 5, name: 4 }]))).toBeNull();
    expect(align(before, run([{ begin: 0, duration: 5, name: 5 }]))).toBeNull();
  });
});

describe("FlameDiff", () => {
  it("ComparesOwnTimeAGeneration", () => {
    const diff = diff_flames(before, after);
    const node = (name: string): number => diff.flame.name.findIndex((n) => kNames[n] === name);
    expect([diff.before[node("denoise")], diff.after[node("denoise")]]).toEqual([30, 25]);
    expect([diff.before[node("step")], diff.after[node("step")]]).toEqual([20, 5]);
    expect(diff.before[node("extra")]).toBeNaN();
    expect(diff.added).toEqual([{ path: "all › extra", ns: 8 }]);
    expect(diff.removed).toEqual([]);
    expect(diff_flames(after, before).removed).toEqual([{ path: "all › extra", ns: 8 }]);
  });
  it("CountsRequestsBeforeSessions", () => {
    expect(generations(before)).toBe(1);
    const twice = run([{ begin: 0, duration: 9, name: 0 }, { begin: 10, duration: 9, name: 0 }], ["r"], ["request"]);
    expect(generations(twice)).toBe(2);
    const once = run([{ begin: 0, duration: 12, name: 0 }], ["r"], ["request"]);
    const diff = diff_flames(once, twice);
    expect([diff.before[1], diff.after[1]]).toEqual([12, 9]);
  });
});

describe("Flow", () => {
  const page: Page = read_page(encode_page(demo_page()));
  it("LinksALaunchWithItsKernelOnOtherTracks", () => {
    const name = page.names.indexOf("cudaLaunchKernel");
    const track = page.tracks.find((t) => t.rows.some((row) => row.name.includes(name)))!;
    const lane = track.rows.findIndex((row) => row.name.includes(name));
    const ref = { track: track.id, lane, place: track.rows[lane]!.name.indexOf(name) };
    const found = linked(page, ref);
    expect(found.length).toBeGreaterThan(0);
    for (const to of found) expect(page.tracks[to.track]!.args.get(view_span(page, to)!.index)!["correlation"]).toBe(0);
    expect(found.every((to) => to.track !== track.id)).toBe(true);
    expect(linked(page, { track: track.id, lane: 0, place: 0 })).toEqual([]);
  });
});

describe("InView", () => {
  const page = read_page(encode_page(demo_page()));
  it("CountsAllAndGivesTheFirst", () => {
    const all = spans_between(page, 0, page.end_ns, 10);
    expect(all.count).toBe(page.tracks.reduce((sum, t) => sum + t.spans, 0));
    expect(all.refs.length).toBe(10);
    let linear = 0;
    for (const track of page.tracks) for (const row of track.rows) for (let i = 0; i < row.begin.length; ++i) if (row.begin[i]! < 4e9 && row.end[i]! > 3e9) ++linear;
    expect(spans_between(page, 3e9, 4e9, 10).count).toBe(linear);
  });
});

describe("Throttle", () => {
  it("JoinsReadingsAndNamesOnlyWhatIsAgainstItsWill", () => {
    const at = Float64Array.of(0, 10, 20, 30, 40, 50);
    const bands = throttle_bands({ at, value: Float64Array.of(1, 4, 4, 0x24, 0, 4) }, [
      { name: "thermal", bits: 0x60 },
      { name: "power cap", bits: 4 },
    ]);
    expect(bands).toEqual([
      { begin: 10, end: 30, name: "power cap" },
      { begin: 30, end: 40, name: "thermal, power cap" },
    ]);
    expect(band_totals(bands)[0]).toEqual(["power cap", 20]);
  });
});
