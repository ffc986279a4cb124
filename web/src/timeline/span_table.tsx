// The spans in view as a table: what the canvas shows, for those who do not see it.
import { cut, format_count, format_ns } from "../data/format";
import type { Page } from "../data/page";
import { spans_between, view_span, type SpanRef } from "../data/search";
import { select, selection, view } from "../ui/state";
import { measured, Table, words } from "../ui/table";

const kMost = 500;

export function SpanTable({ page }: { page: Page }) {
  const { count, refs } = spans_between(page, view.value.begin, view.value.end, kMost);
  const span = (ref: SpanRef) => view_span(page, ref)!;
  const name = (ref: SpanRef): string => page.names[span(ref).name] ?? "";
  const track = (ref: SpanRef): string => `${page.tracks[ref.track]!.process} · ${page.tracks[ref.track]!.name}`;
  const chosen = selection.value;
  return (
    <section class="card">
      <Table
        caption="Spans in view"
        rows={refs}
        most={50}
        pick={(ref) => select(ref)}
        current={(ref) => chosen !== null && ref.track === chosen.track && ref.lane === chosen.lane && ref.place === chosen.place}
        columns={[
          words("Name", name, (r) => cut(name(r), 80)),
          measured("Begin", (r: SpanRef) => span(r).begin, format_ns),
          measured("Duration", (r: SpanRef) => span(r).end - span(r).begin, format_ns),
          { title: "Kind", text: true, value: (r) => page.kinds[span(r).name] ?? "" },
          words("Track", track, (r) => cut(track(r), 80)),
          { title: "Depth", value: (r) => r.lane },
        ]}
      />
      <p class="hint">{format_count(count)} spans are in view{count > refs.length && `; the first ${format_count(refs.length)} are here, ${format_count(count - refs.length)} more are not: zoom in`}.</p>
    </section>
  );
}
