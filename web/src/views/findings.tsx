// What the advisor says: each with its evidence, and a link that moves the timeline there.
import { batch } from "../ui/signals";

import { cut, format_ratio } from "../data/format";
import { finding_target, type Target } from "../data/links";
import type { Page } from "../data/page";
import type { Finding } from "../data/report";
import { Empty, Section, Severity } from "../ui/parts";
import { query, select, set_view, tab, hit } from "../ui/state";
import { Text } from "../ui/text";

export function go_to(target: Target): void {
  batch(() => {
    query.value = target.query.slice(0, 200);
    hit.value = -1;
    tab.value = "timeline";
    set_view(target.begin, target.end);
    select(target.span);
  });
}

function gain_of(finding: Finding): string | null {
  const { gain_low: low, gain_high: high } = finding;
  if (low != null && high != null) return low === high ? format_ratio(low) : `${format_ratio(low)} to ${format_ratio(high)}`;
  return null;
}

export function FindingCard({ page, finding }: { page: Page; finding: Finding }) {
  const target = finding_target(page, finding);
  const gain = gain_of(finding);
  const evidence = Object.entries(finding.evidence);
  return (
    <article class="finding">
      <header>
        <Severity severity={finding.severity} />
        <h3><Text text={finding.title} length={200} /></h3>
        <code class="tag">{cut(finding.rule, 60)}</code>
        <span class="spring" />
        {target && <button class="primary" onClick={() => go_to(target)}>Show in the timeline</button>}
      </header>
      <p class="advice"><Text text={finding.advice} /></p>
      <dl class="facts">
        {evidence.map(([fact, value]) => (
          <div key={fact}><dt class="arg">{cut(fact, 80)}</dt><dd><Text text={finding.evidence_text[fact] ?? String(value)} length={120} /></dd></div>
        ))}
        {(gain !== null || finding.gain !== null) && (
          <div><dt>Gain seen elsewhere</dt><dd>{gain !== null && <b>{gain} of the time</b>} {finding.gain !== null && <small><Text text={finding.gain} length={200} /></small>}</dd></div>
        )}
        <div><dt>Confidence</dt><dd>{cut(finding.confidence, 20) || "–"}</dd></div>
        {finding.source !== "" && <div class="wide"><dt>Who saw it</dt><dd><small><Text text={finding.source} length={300} /></small></dd></div>}
      </dl>
    </article>
  );
}

export function FindingsView({ page }: { page: Page }) {
  const { findings } = page.report!;
  const counts = ["critical", "warning", "hint", "info"].map((s) => ({ s, n: findings.filter((f) => f.severity === s).length })).filter((c) => c.n > 0);
  return (
    <Section title="Findings" note={counts.map((c) => `${c.n} ${c.s}`).join(", ") || undefined}>
      {findings.length === 0 ? (
        <Empty>No rule fired on what was measured. A rule whose facts were not measured says nothing; <code>genscope advise RUN --all</code> lists those and what they lack.</Empty>
      ) : (
        <div class="findings">{findings.map((finding, i) => <FindingCard key={i} page={page} finding={finding} />)}</div>
      )}
    </Section>
  );
}
