// How a run ended, in words. Pure. A program that a signal ended has 128 and the signal as its code.
const signal_of = (code: number | null): number => (code !== null && code > 128 && code <= 192 ? code - 128 : 0);

// A class and a few words.
export function exit_text(code: number | null): [string, string] {
  if (code === null) return ["unknown", "? unknown"];
  if (code === 0) return ["ended", "✓ ended 0"];
  return ["failed", signal_of(code) ? `✖ killed, signal ${signal_of(code)}` : `✖ failed ${code}`];
}

export const end_text = (code: number | null): string =>
  code === null
    ? "The run was killed, or died without a word: it left no exit code. What it had recorded is here."
    : signal_of(code)
      ? `The run was killed by signal ${signal_of(code)}.`
      : `The run ended${code === 0 ? "" : ` with exit code ${code}`}.`;
