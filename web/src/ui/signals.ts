// Values that tell who reads them when they change: computed ones, effects, and components while they
// render. A tenth of the size of the library of that name, for what this page uses of it.
//
// 1. A change marks what follows from it as stale at once; effects run when the outermost batch ends.
// 2. A computed value is made again when it is read, and only if it is stale.
// 3. A watcher is told once per change: whoever reads again is watched again.
import { options, type Component, type VNode } from "preact";

interface Watcher {
  sources: Set<Set<Watcher>>;
  stale: () => void;
}
export interface Computed<T> {
  readonly value: T;
  peek(): T; // without being told of changes
}
export interface Signal<T> extends Computed<T> {
  value: T;
}

let reader: Watcher | undefined;
let depth = 0;
const waiting = new Set<() => void>();

const watcher = (stale: () => void): Watcher => ({ sources: new Set(), stale });

function forget(who: Watcher): void {
  for (const watchers of who.sources) watchers.delete(who);
  who.sources.clear();
}
function run_as<T>(who: Watcher | undefined, run: () => T): T {
  const before = reader;
  if (who) forget(who);
  reader = who;
  try {
    return run();
  } finally {
    reader = before;
  }
}
function seen(watchers: Set<Watcher>): void {
  if (!reader) return;
  watchers.add(reader);
  reader.sources.add(watchers);
}
const tell = (watchers: Set<Watcher>): void => {
  for (const who of [...watchers]) who.stale();
};

export function batch<T>(run: () => T): T {
  ++depth;
  try {
    return run();
  } finally {
    if (--depth === 0) {
      for (const next of waiting) {
        waiting.delete(next);
        next();
      }
    }
  }
}

export function signal<T>(now: T): Signal<T> {
  const watchers = new Set<Watcher>();
  return {
    get value() {
      seen(watchers);
      return now;
    },
    set value(next: T) {
      if (Object.is(next, now)) return;
      now = next;
      batch(() => tell(watchers));
    },
    peek: () => now,
  };
}

export function computed<T>(make: () => T): Computed<T> {
  const watchers = new Set<Watcher>();
  let now: T;
  let fresh = false;
  const self = watcher(() => {
    if (!fresh) return;
    fresh = false;
    tell(watchers);
  });
  const peek = (): T => {
    if (!fresh) {
      now = run_as(self, make);
      fresh = true;
    }
    return now;
  };
  return {
    get value() {
      seen(watchers);
      return peek();
    },
    peek,
  };
}

// Runs now and after each change of what it read, until the function that it returns is called.
export function effect(run: () => void): () => void {
  const again = (): void => run_as(self, run);
  const self = watcher(() => waiting.add(again));
  again();
  return () => {
    forget(self);
    waiting.delete(again);
  };
}

// A component is drawn again when a value that it read while rendering changes. The names are those
// of Preact's minified hooks: __r before a render, __e on an error.
type Hook = (...given: unknown[]) => void;
const hooks = options as unknown as { [name: string]: Hook | undefined };
const watching = new WeakMap<Component, Watcher>();

function hook(name: string, act: (vnode: VNode & { __c?: Component }) => void): void {
  const before = hooks[name];
  hooks[name] = (...given) => {
    act(given[0] as VNode);
    before?.(...given);
  };
}
const stop = (): void => void (reader = undefined);

hook("__b", stop);
hook("__e", stop);
hook("diffed", stop);
hook("__r", ({ __c: component }) => {
  if (!component) return;
  let self = watching.get(component);
  if (!self) watching.set(component, (self = watcher(() => component.forceUpdate())));
  forget(self);
  reader = self;
});
hook("unmount", ({ __c: component }) => {
  const self = component && watching.get(component);
  if (self) forget(self);
});
