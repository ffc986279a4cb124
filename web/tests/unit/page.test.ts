import { describe, expect, it } from "vitest";

import { PageError } from "../../src/data/container";
import type { JsonObject } from "../../src/data/container";
import { read_page } from "../../src/data/page";
import { demo_compare, demo_page } from "../demo";
import { Blobs, container, encode_page, page_header, type PageIn, type SpanIn } from "../make_page";

const report: JsonObject = { run: { wall_ns: 1000 }, stages: [] };
const small = (spans: SpanIn[], more: Partial<PageIn> = {}): PageIn => ({ names: ["a", "b"], kinds: ["stage", "none"], tracks: [{ spans }], report, ...more });
const flat = (page: PageIn) => {
  const track = read_page(encode_page(page)).tracks[0]!;
  return track.rows.flatMap((row, lane) => Array.from(row.begin, (begin, i) => ({ begin, duration: row.end[i]! - begin, name: row.name[i]!, lane, index: row.index[i]! }))).sort((a, b) => a.index - b.index);
};
// The same page with its header changed.
function changed(page: PageIn, change: (header: JsonObject) => void): Uint8Array {
  const blobs = new Blobs();
  const header = page_header(page, blobs);
  change(header);
  return container(header, blobs.bytes());
}
const first_track = (header: JsonObject): JsonObject => (header["tracks"] as JsonObject[])[0]!;

describe("Page", () => {
  it("ReadsWhatTheEncoderWrote", () => {
    const spans: SpanIn[] = [{ begin: 5, duration: 10, name: 0 }, { begin: 6, duration: 3, name: 1, lane: 1, flags: 1, args: { k: "v" } }, { begin: 15, duration: 0, name: 1 }];
    expect(flat(small(spans))).toEqual([
      { begin: 5, duration: 10, name: 0, lane: 0, index: 0 },
      { begin: 6, duration: 3, name: 1, lane: 1, index: 1 },
      { begin: 15, duration: 0, name: 1, lane: 0, index: 2 },
    ]);
    const track = read_page(encode_page(small(spans))).tracks[0]!;
    expect(track.args.get(1)).toEqual({ k: "v" });
    expect([...track.flags]).toEqual([0, 1, 0]);
  });
  it("KeepsValuesThat32BitsDoNotHold", () => {
    const far = 2 ** 40 + 12345;
    const spans: SpanIn[] = [{ begin: far, duration: far * 3, name: 0 }, { begin: far * 5, duration: 0xffffffff, name: 1 }, { begin: far * 5 + 0xffffffff, duration: 0x100000000, name: 1 }, { begin: 2 ** 52, duration: 1, name: 0 }];
    expect(flat(small(spans)).map(({ begin, duration }) => ({ begin, duration }))).toEqual(spans.map(({ begin, duration }) => ({ begin, duration })));
  });
  it("KeepsEveryByteOfShuffledColumns", () => {
    const at = [0, 1.5, 2 ** 52 + 1];
    const value = [-0.1, Number.NaN, 1e308];
    const page = read_page(encode_page(small([], { counters: [{ entity: "x", metric: "m", unit: "B", at, value }] })));
    expect([...page.counters[0]!.at]).toEqual(at);
    expect([...page.counters[0]!.value]).toEqual(value);
    const durations = [0, 1, 0x01020304, 0x7fffffff, 0x80000000, 0xfffefdfc, 0xffffffff];
    expect(flat(small(durations.map((duration, i) => ({ begin: i, duration, name: 0, lane: i })))).map((s) => s.duration)).toEqual(durations);
  });
  it("ReadsWideNameIds", () => {
    const names = Array.from({ length: 70_000 }, (_, i) => `n${i}`);
    const page = { ...small([{ begin: 1, duration: 1, name: 69_999 }, { begin: 3, duration: 1, name: 258 }]), names, kinds: names.map(() => "none") };
    expect(flat(page).map((s) => s.name)).toEqual([69_999, 258]);
  });
  it("TakesEmptyTracksAndNoTracks", () => {
    expect(read_page(encode_page(small([]))).tracks[0]!.rows).toEqual([]);
    const page = read_page(encode_page({ names: [], kinds: [], tracks: [], report: {} }));
    expect(page.tracks).toEqual([]);
    expect(page.end_ns).toBeGreaterThan(0);
  });
  it("Takes256Lanes", () => {
    const spans: SpanIn[] = Array.from({ length: 256 }, (_, lane) => ({ begin: lane, duration: 1000, name: 0, lane }));
    const page = read_page(encode_page(small([...spans, { begin: 256, duration: 10, name: 1, lane: 255 }])));
    expect(page.tracks[0]!.rows.length).toBe(256);
    expect([...page.tracks[0]!.rows[255]!.begin]).toEqual([255, 256]);
  });
  it("ReadsPyramidsInTheOrderOfTheirBuckets", () => {
    const page = small([]);
    page.tracks[0]!.summarised = { spans: 9, below_ns: 50, levels: [{ bucket_ns: 400, count: [9], busy: [65535] }, { bucket_ns: 100, count: [1, 2, 3, 3], busy: [0, 1, 32768, 65535] }] };
    const read = read_page(encode_page(page)).tracks[0]!.summarised!;
    expect(read.levels.map((l) => l.bucket_ns)).toEqual([100, 400]);
    expect([...read.levels[0]!.busy]).toEqual([0, 1, 32768, 65535]);
  });
  it("ReadsTheDemoAndAComparison", () => {
    const page = read_page(encode_page(demo_page()));
    expect(page.tracks.length).toBe(6);
    expect(page.report!.findings.length).toBe(4);
    expect(read_page(encode_page(demo_compare())).compare!.rows!.length).toBe(8);
  });
});

describe("PageErrors", () => {
  const good = encode_page(small([{ begin: 0, duration: 1, name: 0 }]));
  const bad = (bytes: Uint8Array, message: RegExp): void => {
    expect(() => read_page(bytes)).toThrow(PageError);
    expect(() => read_page(bytes)).toThrow(message);
  };
  it("NamesAWrongMagic", () => {
    const bytes = Uint8Array.from(good);
    bytes[0] = 0;
    bad(bytes, /not the data of a genscope page/);
  });
  it("NamesWhereItIsCut", () => {
    for (const length of [0, 7, 11]) bad(good.subarray(0, length), /end after/);
    for (const length of [12, 60]) bad(good.subarray(0, length), /cut/);
    bad(good.subarray(0, good.length - 40), /cut/);
  });
  it("NeverThrowsAnythingElseOnTruncation", () => {
    for (let length = 0; length < good.length; length += 7) {
      try {
        read_page(good.subarray(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(PageError);
      }
    }
  });
  it("NamesAnotherVersionAndMode", () => {
    bad(changed(small([]), (h) => (h["schema"] = "genscope.page/9")), /another version.*genscope.page\/9/);
    bad(changed(small([]), (h) => (h["mode"] = "zoo")), /mode/);
    bad(changed(small([]), (h) => delete h["report"]), /hold no report/);
    bad(container("text", new Uint8Array(0)), /not a JSON object/);
    bad(container([1], new Uint8Array(0)), /not a JSON object/);
  });
  it("NamesAHeaderThatIsNotJson", () => {
    const bytes = Uint8Array.from(good);
    bytes[12] = 0x7b;
    bytes[13] = 0x7b;
    bad(bytes, /not JSON/);
  });
  it("NamesWrongColumns", () => {
    const spans: SpanIn[] = [{ begin: 0, duration: 1, name: 0 }];
    const with_column = (key: string, value: JsonObject | string | null) => changed(small(spans), (h) => (first_track(h)[key] = value));
    bad(with_column("begin", null), /tracks\[0\]\.begin is not a column/);
    bad(with_column("begin", { at: 0, n: 1, type: "u64" }), /begin is not u32/);
    bad(with_column("begin", { at: 0, n: 1, type: "f64" }), /begin is not u32/);
    bad(with_column("begin", { at: -8, n: 1, type: "u32" }), /no proper place/);
    bad(with_column("begin", { at: 0.5, n: 1, type: "u32" }), /no proper place/);
    bad(with_column("begin", { at: 0, n: 1e15, type: "u32" }), /cut/);
    bad(with_column("begin", { at: 1e9, n: 1, type: "u32" }), /cut/);
    bad(with_column("lane", { at: 0, n: 3, type: "u8" }), /differ in length/);
    bad(with_column("begin_far", "x"), /not an array/);
    bad(changed(small(spans), (h) => (first_track(h)["begin_far"] = [[5, 1]])), /makes no sense/);
    bad(changed(small(spans), (h) => (first_track(h)["duration_far"] = [["a", -1]])), /makes no sense/);
    bad(changed(small(spans), (h) => (h["names"] = [])), /has no name/);
    bad(changed(small(spans), (h) => (h["tracks"] = [7])), /not an object/);
    bad(changed(small(spans), (h) => (h["tracks"] = 7)), /not an array/);
  });
  it("ToleratesAReportOfOtherTypes", () => {
    const odd = { run: 5, stages: { a: 1 }, findings: [null, 3, { rule: 7 }], gpus: "none", absent: [], integrity: null } as unknown as JsonObject;
    const page = read_page(encode_page(small([], { report: odd })));
    expect(page.report!.stages).toEqual([]);
    expect(page.report!.findings[0]!.severity).toBe("info");
    expect(page.report!.integrity.notes).toEqual([]);
  });
});
