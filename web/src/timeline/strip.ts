// One row of spans into pixels: wide spans as rectangles, all narrower ones as one line of pixels.
// The cost depends on the width of the picture, not on the number of spans.
import type { Row } from "../data/page";
import { first_visible, gallop } from "../data/search";
import { covered, longest_span, type RowIndex } from "./row_index";

export const kWide = 1.5; // pixels

export interface Wide {
  x: number[];
  width: number[];
  name: number[];
  place: number[];
}

// `strip` receives `pixels` RGBA words at `offset`; `ink[name]` is 0x00BBGGRR.
export function raster_row(
  row: Row,
  index: RowIndex,
  begin: number,
  end: number,
  pixels: number,
  ink: Uint32Array,
  strip: Uint32Array,
  offset: number,
  wide: Wide,
): void {
  const scale = pixels / (end - begin);
  const n = row.begin.length;
  let i = first_visible(row, begin);
  while (i < n) {
    const from = row.begin[i]!;
    if (from >= end) break;
    const width = (row.end[i]! - from) * scale;
    if (width >= kWide) {
      wide.x.push((from - begin) * scale);
      wide.width.push(width);
      wide.name.push(row.name[i]!);
      wide.place.push(i);
      ++i;
      continue;
    }
    const pixel = Math.max(0, Math.floor((from - begin) * scale));
    if (pixel >= pixels) break;
    const next = Math.max(i + 1, gallop(row.begin, begin + (pixel + 1) / scale, i + 1));
    const best = longest_span(row, index, i, next);
    const share = Math.min(1, covered(row, index, i, next) * scale);
    const alpha = 90 + Math.round(165 * share);
    strip[offset + pixel] = (ink[row.name[best]!]! | (alpha << 24)) >>> 0;
    // The last span of the pixel may be a wide one: it is drawn as such.
    const last = next - 1;
    if (last > i && (row.end[last]! - row.begin[last]!) * scale >= kWide) i = last;
    else i = next;
  }
}
