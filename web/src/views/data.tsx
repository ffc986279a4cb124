// Files made here from what the page holds; nothing leaves the machine.
import { format_count } from "../data/format";
import { chrome_trace, samples_csv, spans_csv, stages_csv } from "../data/export";
import type { Page } from "../data/page";
import { page_copy } from "../ui/copy";
import { Section } from "../ui/parts";

function save(name: string, type: string, parts: Iterable<string>): void {
  const blob = new Blob([...parts], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

interface File {
  name: string;
  type: string;
  title: string;
  text: string;
  parts: () => Iterable<string>;
}

const copy: File = { name: "genscope-page.html", type: "text/html", title: "This page, HTML", text: "with your marks, notes and view", parts: page_copy };

function files(page: Page): File[] {
  if (!__SERVED__ && page.compare && !page.report) {
    return [copy, { name: "genscope-compare.json", type: "application/json", title: "Comparison, JSON", text: "genscope.compare/2", parts: () => [JSON.stringify(page.compare, null, 2)] }];
  }
  const spans = format_count(page.tracks.reduce((sum, t) => sum + t.spans, 0));
  return [
    copy,
    { name: "genscope-report.json", type: "application/json", title: "Report, JSON", text: "genscope.report/1, all figures; docs/report-json.md", parts: () => [JSON.stringify(page.report?.raw ?? {}, null, 2)] },
    { name: "genscope-stages.csv", type: "text/csv", title: "Stages, CSV", text: "the table of Stages", parts: () => [stages_csv(page)] },
    { name: "genscope-spans.csv", type: "text/csv", title: "Spans, CSV", text: `${spans} spans of this page`, parts: () => spans_csv(page) },
    { name: "genscope-samples.csv", type: "text/csv", title: "Readings, CSV", text: `${format_count(page.counters.length)} series`, parts: () => samples_csv(page) },
    { name: "genscope-trace.json", type: "application/json", title: "Chrome trace, JSON", text: "opens in Perfetto and speedscope", parts: () => chrome_trace(page) },
  ];
}

export function DataView({ page }: { page: Page }) {
  return (
    <Section title="Data" note="made in this browser from what the page holds">
      <ul class="downloads">
        {files(page).map((file) => (
          <li key={file.name}>
            <button onClick={() => save(file.name, file.type, file.parts())}>{file.title}</button>
            <span>{file.text}</span>
            <code>{file.name}</code>
          </li>
        ))}
      </ul>
      <p class="hint">Times are nanoseconds since the begin of the run. A value that was not measured is empty, never 0.</p>
    </Section>
  );
}
