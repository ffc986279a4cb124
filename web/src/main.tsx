// Reads the data beside the script and shows them; without data it asks the server it came from.
import { options, render } from "preact";

import { PageError } from "./data/container";
import { load_bytes } from "./data/load";
import { read_page } from "./data/page";
import { served } from "./live/start";
import { App, Failure, Head } from "./ui/app";
import { keep_hash, keep_theme, page, printing, read_hash, show_all } from "./ui/state";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/timeline.css";
import "./styles/print.css";

const kSlowToRead = 4e6; // characters: some 500,000 spans

const root = document.getElementById("app")!;

function fail(error: unknown): void {
  const known = error instanceof PageError;
  render(
    <Failure
      title="This report cannot be shown"
      detail={known ? `${error.message}.` : `Something unexpected happened: ${error instanceof Error ? error.message : String(error)}`}
    />,
    root,
  );
}

// Sections appear at once, before the browser lays out the paper.
function watch_print(): void {
  const set = (on: boolean): void => {
    const later = options.debounceRendering;
    options.debounceRendering = (run) => run();
    printing.value = on;
    if (later) options.debounceRendering = later;
    else delete options.debounceRendering;
  };
  addEventListener("beforeprint", () => set(true));
  addEventListener("afterprint", () => set(false));
  const media = matchMedia("print");
  media.addEventListener("change", () => set(media.matches));
  if (media.matches) set(true);
}

// Until what was rendered is on the screen; a tab that nobody sees has no frames.
const next_frame = (): Promise<void> =>
  new Promise((go) => {
    requestAnimationFrame(() => setTimeout(go));
    setTimeout(go, 100);
  });

async function start(): Promise<void> {
  keep_theme();
  watch_print();
  const element = document.getElementById("genscope-data");
  const text = element?.textContent ?? "";
  if (text.trim() === "") {
    read_hash(location.hash);
    if (__SERVED__ && location.protocol.startsWith("http")) render(served(), root);
    else fail(new PageError("the file holds no data: it is the bundle itself, which genscope fills"));
    return;
  }
  // Of little data the page itself comes sooner than a frame that says so.
  if (text.length > kSlowToRead) {
    render(<div class="app"><Head title="genscope" detail={<span>reading…</span>} /></div>, root);
    await next_frame();
  }
  const bytes = await load_bytes(text);
  element?.remove();
  performance.mark("genscope:loaded");
  page.value = read_page(bytes);
  performance.mark("genscope:read");
  show_all();
  read_hash(location.hash);
  keep_hash();
  const Root = () => (page.value ? <App page={page.value} /> : null);
  render(<Root />, root);
}

start().catch(fail);
