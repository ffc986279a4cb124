// Help and "go to": real <dialog> elements, so that focus stays inside and Escape closes.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { parse_time } from "../data/format";
import { kCommands, kGroups } from "./keys";
import { dialog, page, set_view, tab, view } from "./state";

function Modal({ title, children }: { title: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  const close = (): void => void (dialog.value = "");
  return (
    <dialog ref={element} aria-label={title} onClose={close} onClick={(event) => { if (event.target === element.current) close(); }}>
      <div class="modal">
        <header>
          <h2>{title}</h2>
          <button class="ghost" aria-label="Close" onClick={close}>✕</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

const key_name = (key: string): string => (key === "Escape" ? "Esc" : key);

function Help() {
  return (
    <Modal title="Keys and gestures">
      <div class="help">
        {kGroups.map((title, place) => (
          <section key={title}>
            <h3>{title}</h3>
            <ul>
              {kCommands.filter(([, , group]) => group === place).map(([key, label, , run]) => (
                <li key={key}>
                  <button
                    class="ghost"
                    onClick={() => {
                      dialog.value = "";
                      if (place === 0) tab.value = "timeline";
                      run();
                    }}
                  >
                    <kbd>{key_name(key)}</kbd> {label}
                  </button>
                </li>
              ))}
              {place === 2 && <li class="plain"><kbd>1</kbd>…<kbd>9</kbd> Sections</li>}
            </ul>
          </section>
        ))}
        <section>
          <h3>Mouse and touch</h3>
          <ul class="gestures">
            <li>Wheel: zoom at the pointer; with Shift: scroll</li>
            <li>Drag: move. Two fingers: zoom</li>
            <li>Shift and drag, or drag on the axis: statistics of a range</li>
            <li>Click: select. Double click: fit the span</li>
          </ul>
        </section>
      </div>
    </Modal>
  );
}

function GoTo() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const go = (event: Event): void => {
    event.preventDefault();
    const at = parse_time(input.current?.value ?? "");
    if (at === null || !page.value) {
      input.current?.setCustomValidity("A time such as 12.5 s or 300ms");
      input.current?.reportValidity();
      return;
    }
    const size = Math.min(view.value.end - view.value.begin, page.value.end_ns / 10);
    dialog.value = "";
    tab.value = "timeline";
    set_view(at - size / 2, at + size / 2);
  };
  return (
    <Modal title="Go to a time">
      <form class="goto" onSubmit={go}>
        <label>
          Time since the begin of the run
          <input ref={input} type="text" placeholder="12.5 s, 300ms, 2 min" onInput={(event) => event.currentTarget.setCustomValidity("")} />
        </label>
        <button type="submit">Go</button>
      </form>
    </Modal>
  );
}

export function Dialogs() {
  if (dialog.value === "help") return <Help />;
  if (dialog.value === "goto") return <GoTo />;
  return null;
}
