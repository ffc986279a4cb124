// How busy stretches of time are: for the overview above the timeline, and for spans that a page only
// has as a pyramid.
import type { Page, Summarised } from "./page";

// Mean number of tracks whose outermost spans cover each of `buckets` stretches of [0, end).
// A span of kind session covers all and says nothing: the lane under it counts instead.
export function overview_density(page: Page, buckets: number): Float64Array {
  const out = new Float64Array(buckets);
  const width = page.end_ns / buckets;
  for (const track of page.tracks) {
    const lane = track.rows.findIndex((row) => {
      const name = row.name[0];
      return name !== undefined && page.kinds[name] !== "session";
    });
    const row = track.rows[Math.max(0, lane)];
    if (row) add_cover(out, width, row.begin, row.end);
    for (let i = 0; i < buckets && track.summarised; ++i) {
      out[i]! += busy_between(track.summarised, i * width, (i + 1) * width);
    }
  }
  return out;
}

function add_cover(out: Float64Array, width: number, begin: Float64Array, end: Float64Array): void {
  const last = out.length - 1;
  for (let i = 0; i < begin.length; ++i) {
    const from = begin[i]! / width;
    const to = end[i]! / width;
    const a = Math.min(last, Math.floor(from));
    const b = Math.min(last, Math.floor(to));
    if (a === b) {
      out[a]! += to - from;
      continue;
    }
    out[a]! += a + 1 - from;
    for (let k = a + 1; k < b; ++k) out[k]! += 1;
    out[b]! += Math.min(1, to - b);
  }
}

// Share of [begin, end) that summarised spans cover, from the coarsest level that is fine enough.
export function busy_between(summarised: Summarised, begin: number, end: number): number {
  const { levels } = summarised;
  if (levels.length === 0 || !(end > begin)) return 0;
  let level = levels[0]!;
  for (const candidate of levels) if (candidate.bucket_ns <= end - begin) level = candidate;
  const first = Math.max(0, Math.floor(begin / level.bucket_ns));
  const last = Math.min(level.busy.length - 1, Math.ceil(end / level.bucket_ns) - 1);
  let sum = 0;
  for (let i = first; i <= last; ++i) {
    const from = Math.max(begin, i * level.bucket_ns);
    const to = Math.min(end, (i + 1) * level.bucket_ns);
    sum += (level.busy[i]! / 65535) * (to - from);
  }
  return sum / (end - begin);
}

// Least and greatest value of a counter in each pixel, NaN where it has none: peaks stay visible.
// A level holds until the next reading, so a pixel without one takes the last before it.
export function counter_strip(
  at: Float64Array,
  value: Float64Array,
  begin: number,
  end: number,
  pixels: number,
): { low: Float64Array; high: Float64Array } {
  const low = new Float64Array(pixels).fill(NaN);
  const high = new Float64Array(pixels).fill(NaN);
  const scale = pixels / (end - begin);
  let i = 0;
  let step = 1 << 30;
  while (step > 0) {
    if (i + step <= at.length && at[i + step - 1]! < begin) i += step;
    step >>= 1;
  }
  let held = i > 0 ? value[i - 1]! : NaN;
  for (let x = 0; x < pixels; ++x) {
    const stop = begin + (x + 1) / scale;
    low[x] = high[x] = held;
    while (i < at.length && at[i]! < stop) {
      held = value[i]!;
      if (Number.isFinite(held)) {
        if (!(low[x]! <= held)) low[x] = held;
        if (!(high[x]! >= held)) high[x] = held;
      }
      ++i;
    }
    // After its last reading nothing is known.
    if (i >= at.length) held = NaN;
  }
  return { low, high };
}
