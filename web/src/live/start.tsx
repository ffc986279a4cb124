// A page that was served without data: the list of runs, or one run, live while it is in progress.
import { useMemo } from "preact/hooks";

import { cut, format_ns } from "../data/format";
import { App, Head } from "../ui/app";
import { Empty } from "../ui/parts";
import { keep_hash, page } from "../ui/state";
import type { SectionInfo } from "../views/sections";
import { Browser } from "./browser";
import { LiveView } from "./live";
import { end_text } from "./exit";
import { kRefused, LinkText } from "./link_text";
import "../styles/live.css";
import { ended, entry, link, newest_ns, running, trouble, watch } from "./watch";

const kLive: SectionInfo = { id: "live", title: "Live", icon: "live", View: LiveView, shown: () => true };

function Notice() {
  if (!ended.value) return null;
  return <p class="banner" role="status">{end_text(ended.value.exit_code)}{trouble.value !== "" && ` No final report yet: ${cut(trouble.value, 200)}.`}</p>;
}

// Alone, so that a tick does not draw the report again.
const Elapsed = () => <span>{format_ns(newest_ns.value)}</span>;

function Run() {
  const first = useMemo(() => (running.value ? [kLive] : []), [running.value]);
  const name = cut(entry.value?.name || "genscope", 80);
  const state = (
    <>
      {running.value && !ended.value && <><LinkText /><Elapsed /></>}
      <a href={`/${location.search}`}>All runs</a>
    </>
  );
  if (page.value || running.value) return <App page={page.value} first={first} name={name} state={state} notice={<Notice />} />;
  return (
    <div class="app live">
      <Head title={name} detail={<LinkText />} />
      <main><Empty>{link.value === "refused" ? kRefused : trouble.value ? cut(trouble.value, 400) : "Reading the run…"}</Empty></main>
    </div>
  );
}

export function served() {
  const id = /^\/runs\/([^/]+)$/.exec(location.pathname)?.[1];
  if (id === undefined) return <Browser />;
  keep_hash();
  void watch(decodeURIComponent(id));
  return <Run />;
}
