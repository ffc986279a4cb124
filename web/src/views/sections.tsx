// The sections of the page, in the order of the rail; each says for which pages it is there.
import type { FunctionComponent } from "preact";

import type { Page } from "../data/page";
import { page as current } from "../ui/state";
import { Timeline } from "../timeline/timeline";
import { CompareView } from "./compare";
import { DataView } from "./data";
import { FindingsView } from "./findings";
import { FlameView } from "./flame";
import { FlameDiffView } from "./flame_diff";
import { GpuView } from "./gpu";
import { HostView } from "./host";
import { has_idle, IdleView } from "./idle";
import { has_memory, MemoryView } from "./memory";
import { OverlayView } from "./overlay";
import { RanksView } from "./ranks";
import { StagesView } from "./stages";
import { SummaryView } from "./summary";
import { SystemView } from "./system";

export interface SectionInfo {
  id: string;
  title: string;
  icon: string;
  View: FunctionComponent<{ page: Page }>;
  shown: (page: Page) => boolean;
  badge?: () => string;
}

const report = (page: Page): boolean => page.mode === "report";
const ranks = (page: Page): number => new Set(page.tracks.map((t) => t.rank).filter((r) => r !== null)).size;

// No server shows comparisons, so that its page does without them.
const compared: SectionInfo[] = __SERVED__
  ? []
  : [
      { id: "compare", title: "Compare", icon: "compare", View: CompareView, shown: (page) => page.mode === "compare" },
      { id: "runs", title: "Runs", icon: "ranks", View: OverlayView, shown: (page) => page.outlines !== null },
      { id: "difference", title: "Flame", icon: "flame", View: FlameDiffView, shown: (page) => page.runs !== null },
    ];

export const kSections: SectionInfo[] = [
  ...compared.slice(0, 2),
  { id: "summary", title: "Summary", icon: "summary", View: SummaryView, shown: report },
  { id: "timeline", title: "Timeline", icon: "timeline", View: Timeline, shown: (page) => report(page) || page.tracks.length > 0 },
  { id: "stages", title: "Stages", icon: "stages", View: StagesView, shown: report },
  {
    id: "findings",
    title: "Findings",
    icon: "findings",
    View: FindingsView,
    shown: report,
    badge: () => String(current.value?.report?.findings.length || ""),
  },
  { id: "gpu", title: "GPU", icon: "gpu", View: GpuView, shown: report },
  { id: "host", title: "CPU and host", icon: "host", View: HostView, shown: report },
  { id: "idle", title: "Idle and overlap", icon: "idle", View: IdleView, shown: (page) => report(page) && has_idle(page) },
  { id: "memory", title: "Memory", icon: "memory", View: MemoryView, shown: (page) => report(page) && has_memory(page) },
  { id: "flame", title: "Flame", icon: "flame", View: FlameView, shown: report },
  ...compared.slice(2),
  { id: "ranks", title: "Ranks", icon: "ranks", View: RanksView, shown: (page) => report(page) && ranks(page) > 1 },
  { id: "system", title: "System", icon: "system", View: SystemView, shown: report },
  { id: "data", title: "Data", icon: "data", View: DataView, shown: () => true },
];
