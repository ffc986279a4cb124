// In which language the program is written that a run recorded, as far as the report tells.
import type { Report } from "./report";

export type Language = "Python" | "C++";

const kPython = /^(python|pypy)[\d.]*$|\.py$|^(torchrun|accelerate|deepspeed|jupyter|ipython)$/;

const base_name = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

// Null: it does not tell. A program that is not started through Python and that recorded spans used the library.
export function language_of(report: Report): Language | null {
  if (report.instrument.length > 0) return "Python"; // its hooks speak
  const command = report.run.command ?? [];
  // `env X=1 nice python generate.py`: the program is one of the first words.
  if (command.slice(0, 6).some((word) => kPython.test(base_name(word)))) return "Python";
  if (report.processes.some((row) => typeof row["name"] === "string" && kPython.test(row["name"]))) return "Python";
  return command.length > 0 && Number(report.recorder["spans"] ?? 0) > 0 ? "C++" : null;
}
