import { describe, expect, it } from "vitest";

import { batch, computed, effect, signal } from "../../src/ui/signals";

describe("Signals", () => {
  it("TellsEffectsOnceABatch", () => {
    const [a, b] = [signal(1), signal(2)];
    const seen: number[] = [];
    const stop = effect(() => void seen.push(a.value + b.value));
    batch(() => {
      a.value = 10;
      b.value = 20;
    });
    a.value = 10;
    expect(seen).toEqual([3, 30]);
    stop();
    a.value = 0;
    expect(seen).toEqual([3, 30]);
  });
  it("MakesAComputedValueWhenItIsReadAndOnlyIfItIsStale", () => {
    const a = signal(2);
    let made = 0;
    const square = computed(() => {
      ++made;
      return a.value * a.value;
    });
    const above = computed(() => square.value + 1);
    expect(made).toBe(0);
    expect([above.value, square.value, above.peek()]).toEqual([5, 4, 5]);
    expect(made).toBe(1);
    a.value = 3;
    expect(made).toBe(1);
    expect(above.value).toBe(10);
    expect(made).toBe(2);
  });
  it("FollowsOnlyWhatWasReadLast", () => {
    const [which, a, b] = [signal(true), signal(1), signal(2)];
    const seen: number[] = [];
    effect(() => void seen.push(which.value ? a.value : b.value));
    b.value = 5;
    which.value = false;
    a.value = 7;
    b.value = 6;
    expect(seen).toEqual([1, 5, 6]);
  });
  it("DoesNotFollowWhatIsPeeked", () => {
    const a = signal(1);
    const double = computed(() => a.value * 2);
    let runs = 0;
    effect(() => {
      ++runs;
      void [a.peek(), double.peek()];
    });
    a.value = 2;
    expect(runs).toBe(1);
    expect(double.value).toBe(4);
  });
  it("LetsAnEffectSetWhatAnotherReads", () => {
    const [a, b] = [signal(1), signal(0)];
    const seen: number[] = [];
    effect(() => void seen.push(b.value));
    effect(() => void (b.value = a.value * 10));
    a.value = 2;
    expect(seen).toEqual([0, 10, 20]);
  });
  it("StaysStaleAfterAnError", () => {
    const a = signal(0);
    const odd = computed(() => {
      if (a.value === 0) throw new Error("zero");
      return 1 / a.value;
    });
    expect(() => odd.value).toThrow("zero");
    expect(() => odd.value).toThrow("zero");
    a.value = 4;
    expect(odd.value).toBe(0.25);
  });
});
