// Below the timeline: the span that is selected, or the statistics of the range.
import type { Json } from "../data/container";
import { format_count, format_ns, format_ratio, cut } from "../data/format";
import { kClipped, kDetached, kFailed, kUnfinished, type Page } from "../data/page";
import { view_span } from "../data/search";
import { range_statistics, type NameStats } from "../data/stats";
import { measured, Table, words } from "../ui/table";
import { Text } from "../ui/text";
import { fit_selection, colour_of, links, marks, pins, query, range, select, selection, stage, tab, toggled, set_view } from "../ui/state";

const plain = (value: Json): string => (typeof value === "string" ? value : typeof value === "number" ? format_count(value) : JSON.stringify(value));

function SpanDetail({ page }: { page: Page }) {
  const ref = selection.value;
  const span = ref ? view_span(page, ref) : null;
  if (!span) return null;
  const track = page.tracks[span.track]!;
  const name = page.names[span.name] ?? "";
  const flags = track.flags[span.index]!;
  const said = [
    [kFailed, "failed"],
    [kUnfinished, "unfinished"],
    [kDetached, "detached"],
    [kClipped, "begin lost"],
  ].flatMap(([bit, word]) => ((flags & (bit as number)) !== 0 ? [word as string] : []));
  const row = page.report?.stages.find((s) => s.name === name && s.kind === page.kinds[span.name]);
  const length = span.end - span.begin;
  const args = track.args.get(span.index);
  return (
    <section class="detail" aria-label="Selected span">
      <header>
        <i class="swatch" style={{ background: colour_of(name) }} />
        <h2><Text text={name} length={160} /></h2>
        <span class="tag">{page.kinds[span.name]}</span>
        {said.map((word) => <span key={word} class="tag bad">{word}</span>)}
        <span class="spring" />
        <button onClick={fit_selection}>Fit</button>
        <button onClick={() => (query.value = name.slice(0, 200))}>Find alike</button>
        <button onClick={() => (pins.value = toggled(pins.value, `t${span.track}`))}>{pins.value.has(`t${span.track}`) ? "Unpin" : "Pin"} track</button>
        {row && (
          <button
            onClick={() => {
              stage.value = name;
              tab.value = "stages";
            }}
          >
            Stage
          </button>
        )}
      </header>
      <dl class="facts">
        <div><dt>Duration</dt><dd>{format_ns(length)}</dd></div>
        <div><dt>Begin</dt><dd>{format_ns(span.begin)}</dd></div>
        <div><dt>Track</dt><dd><Text text={`${track.rank === null ? "" : `rank ${track.rank} · `}${track.process} · ${track.name}`} length={80} /></dd></div>
        {row?.p50_ns != null && row.p50_ns > 0 && <div><dt>Against the median</dt><dd>{(length / row.p50_ns).toFixed(2)} × <small>of {format_count(row.count)}</small></dd></div>}
        <div><dt>Share of the run</dt><dd>{format_ratio(length / page.end_ns)}</dd></div>
        {args && Object.entries(args).map(([key, value]) => <div key={key}><dt class="arg">{cut(key, 40)}</dt><dd><Text text={plain(value)} length={120} /></dd></div>)}
      </dl>
      {links.value.length > 0 && (
        <p class="row-buttons">
          Linked by <code>correlation</code>
          {links.value.slice(0, 8).map((to) => {
            const other = view_span(page, to)!;
            return <button key={`${to.track}.${to.lane}.${to.place}`} onClick={() => select(to, true)}>{cut(page.names[other.name] ?? "", 60)} <small>{format_ns(other.end - other.begin)}, {other.begin < span.begin ? "before" : "after"} {format_ns(Math.abs(other.begin - span.begin))}</small></button>;
          })}
          {links.value.length > 8 && <small>and {links.value.length - 8} more</small>}
        </p>
      )}
    </section>
  );
}

function RangeDetail({ page }: { page: Page }) {
  const window = range.value;
  if (!window) return null;
  const rows = range_statistics(page, window.begin, window.end);
  const length = window.end - window.begin;
  return (
    <section class="detail" aria-label="Statistics of the range">
      <header>
        <h2>{format_ns(length)} from {format_ns(window.begin)}</h2>
        <span class="spring" />
        <button onClick={() => set_view(window.begin, window.end)}>Fit</button>
        <button onClick={() => (range.value = null)}>Clear</button>
      </header>
      <Table
        caption="Spans that touch the range, by name"
        rows={rows}
        most={12}
        initial="Time inside"
        columns={[
          words("Name", (r: NameStats) => page.names[r.name] ?? "", (r) => <><i class="swatch" style={{ background: colour_of(page.names[r.name] ?? "") }} /><Text text={page.names[r.name] ?? ""} length={80} /></>),
          measured("Count", (r: NameStats) => r.count, format_count),
          measured("Time inside", (r: NameStats) => r.total, format_ns),
          { title: "Of the range", value: (r) => r.total, show: (r) => format_ratio(r.total / length) },
          measured("Mean inside", (r: NameStats) => r.total / r.count, format_ns),
          measured("Shortest", (r: NameStats) => r.min, format_ns),
          measured("Longest", (r: NameStats) => r.max, format_ns),
        ]}
      />
    </section>
  );
}

function Marks() {
  if (marks.value.length === 0) return null;
  return (
    <section class="detail" aria-label="Marks">
      <header><h2>Marks</h2><small>kept in the address and in a copy of this page (Data)</small></header>
      <ul class="marks">
        {marks.value.map((mark, i) => (
          <li key={i}>
            <button onClick={() => set_view(mark.begin, mark.end)}>{format_ns(mark.begin)}, {format_ns(mark.end - mark.begin)}</button>
            <input
              aria-label="Note"
              placeholder="note"
              value={mark.note}
              maxLength={200}
              onInput={(event) => {
                const note = event.currentTarget.value;
                marks.value = marks.value.map((m, k) => (k === i ? { ...m, note } : m));
              }}
            />
            <button class="ghost" aria-label="Remove the mark" onClick={() => (marks.value = marks.value.filter((_, k) => k !== i))}>✕</button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Detail({ page }: { page: Page }) {
  return (
    <>
      <SpanDetail page={page} />
      <RangeDetail page={page} />
      <Marks />
      {!selection.value && !range.value && (
        <p class="hint">Wheel to zoom, drag to move, Shift and drag for statistics of a range, click a span for its figures, <kbd>?</kbd> for all keys.</p>
      )}
    </>
  );
}
