// Spans that belong together across tracks: those with the same argument `correlation`, as a launch
// and the kernel that it launched.
import type { Page } from "./page";
import { ref_of, view_span, type SpanRef } from "./search";

export const kMostLinks = 64;
const known = new WeakMap<Page, Map<unknown, [number, number][]>>();

function index_of(page: Page): Map<unknown, [number, number][]> {
  let index = known.get(page);
  if (!index) {
    known.set(page, (index = new Map()));
    for (const track of page.tracks) {
      for (const [i, args] of track.args) {
        const key = args["correlation"];
        if (typeof key !== "number" && typeof key !== "string") continue;
        const list = index.get(key);
        if (list) list.push([track.id, i]);
        else index.set(key, [[track.id, i]]);
      }
    }
  }
  return index;
}

// On other tracks, in the order of their begins.
export function linked(page: Page, ref: SpanRef): SpanRef[] {
  const span = view_span(page, ref);
  const key = span && page.tracks[ref.track]!.args.get(span.index)?.["correlation"];
  return (index_of(page).get(key ?? NaN) ?? [])
    .filter(([track]) => track !== ref.track)
    .slice(0, kMostLinks)
    .flatMap(([track, i]) => ref_of(page.tracks[track]!, i) ?? [])
    .sort((a, b) => view_span(page, a)!.begin - view_span(page, b)!.begin);
}
