// Pages of a given number of spans, straight into columns: 4M objects would not fit.
import { random } from "../tests/demo";
import { Blobs, container } from "../tests/make_page";

// 8 tracks of 5 lanes, 200 names, gaps and durations at random.
export function encode_large(spans: number): Uint8Array {
  const [tracks, lanes] = [8, 5];
  const next = random(3);
  const names = Array.from({ length: 200 }, (_, i) => `op_${i}`);
  const blobs = new Blobs();
  const per = Math.floor(spans / tracks);
  let wall = 0;
  const list = Array.from({ length: tracks }, (_, t) => {
    const [begin, duration, name, lane] = [new Uint32Array(per), new Uint32Array(per), new Uint16Array(per), new Uint8Array(per)];
    const free = new Array<number>(lanes).fill(0);
    let at = 0;
    for (let i = 0; i < per; ++i) {
      const row = i % lanes;
      const from = Math.max(at + Math.floor(next() * 900), free[row]!);
      begin[i] = from - at;
      at = from;
      duration[i] = Math.floor(200 + next() * next() * 6000);
      free[row] = from + duration[i]!;
      name[i] = Math.floor(next() * 200);
      lane[i] = row;
    }
    wall = Math.max(wall, ...free);
    return {
      pid: 1, tid: t + 1, rank: null, process: "bench", name: `thread ${t}`, device: false, lanes,
      begin: blobs.add("u32", begin), begin_far: [], duration: blobs.add("u32", duration), duration_far: [],
      name_id: blobs.add("u16", name), lane: blobs.add("u8", lane), flags: blobs.add("u8", new Uint8Array(per)), args: [], summarised: null,
    };
  });
  const none = { at: blobs.add("f64", []), name_id: blobs.add("u32", []), track: blobs.add("u32", []), args: [] };
  const header = { schema: "genscope.page/1", mode: "report", names, kinds: names.map(() => "none"), tracks: list, events: none, counters: [], limits: null, report: { run: { name: `${spans} spans`, wall_ns: wall } } };
  return container(header, blobs.bytes());
}
