// genscope.bench/1: the whole result, written in one pass, piece by piece, and read in one pass
// from a string. Both directions share one list of fields (json_fields.h), so that they cannot
// drift apart.
#include <fmt/format.h>

#include "base/file.h"
#include "bench/result/cell_json.h"
#include "bench/result/comparison_json.h"
#include "bench/result/environment_json.h"
#include "bench/result/suite_summary.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kSchema = "genscope.bench/1";
constexpr std::size_t kLargestResult = std::size_t{256} << 20;

// "git" is {"sha", "dirty", "branch"}.
struct Git {
  std::string sha, branch;
  std::optional<bool> dirty;
};
template <class Io, Of<Git> S>
void fields(Io& io, S& s) {
  io("sha", s.sha);
  io("dirty", s.dirty);
  io("branch", s.branch);
}
void git(FieldWriting& io, const BenchResult& r) {
  const Git facts{r.git_sha, r.git_branch, r.git_dirty};
  if (!facts.sha.empty() || !facts.branch.empty() || facts.dirty) io("git", facts);
}
void git(FieldReading& io, BenchResult& r) {
  Git facts{r.git_sha, r.git_branch, r.git_dirty};
  io("git", facts);
  r.git_sha = std::move(facts.sha);
  r.git_branch = std::move(facts.branch);
  r.git_dirty = facts.dirty;
}

// "run": what was run, when, by whom.
template <class R>
struct RunPart {
  R& result;
};
template <class Io, class R>
void fields(Io& io, RunPart<R>& part) {
  auto& r = part.result;
  io("id", r.id);
  io("suite", r.suite);
  io("suite_hash", r.suite_hash);
  io("started", r.started);
  io("ended", r.ended);
  io("tool_version", r.tool_version);
  io.foreign("argv", r.argv, true);
  io("seed", r.seed);
  git(io, r);
}
void run_part(FieldWriting& io, const BenchResult& r) {
  io.custom("run", true, [&](FieldWriting& w) {
    w.out().begin('{');
    RunPart<const BenchResult> part{r};
    fields(w, part);
    w.out().end('}');
  });
}
void run_part(FieldReading& io, BenchResult& r) {
  io.custom("run", true, [&](FieldReading& in) {
    RunPart<BenchResult> part{r};
    in.object(part);
  });
}

// "workload" is {"hash", and what was done}.
void workload(FieldWriting& io, const BenchResult& r) {
  io.custom("workload", true, [&](FieldWriting& w) {
    w.out().begin('{');
    w("hash", r.workload_hash);
    for (const auto& [key, value] : r.workload) {
      if (key != "hash") w.foreign(key, value);
    }
    w.out().end('}');
  });
}
void workload(FieldReading& io, BenchResult& r) {
  io.custom("workload", true, [&](FieldReading& in) {
    in.in().members([&](std::string_view key) {
      in.in().read(key == "hash" ? r.workload_hash : r.workload[std::string(key)]);
    });
  });
}

struct Score {
  std::optional<double> total;
  std::map<std::string, double> parts;
};
template <class Io, Of<Score> S>
void fields(Io& io, S& s) {
  io("total", s.total);
  io("parts", s.parts);
}
void score(FieldWriting& io, const BenchResult& r) {
  if (r.score || !r.score_parts.empty()) io("score", Score{r.score, r.score_parts});
}
void score(FieldReading& io, BenchResult& r) {
  Score both{r.score, std::move(r.score_parts)};
  io("score", both);
  r.score = both.total;
  r.score_parts = std::move(both.parts);
}

}  // namespace

template <class Io, Of<SuiteSummary> S>
void fields(Io& io, S& s) {
  io("pass_rate", s.pass_rate);
  io("success_rate", s.success_rate);
  io("verdict_counts", s.verdict_counts);
  io("asymmetry", s.asymmetry);
}

template <class Io, Of<Exit> S>
void fields(Io& io, S& s) {
  io("code", s.code);
  io.foreign("reasons", s.reasons);
}

namespace {

// Counts over the whole: made anew from the rest, so that reading leaves them out.
void summary(FieldWriting& io, const BenchResult& r) { io("suite", summarize_suite(r)); }
void summary(FieldReading& io, BenchResult&) {
  SuiteSummary ignored;
  io("suite", ignored);
}

// Of the file at large: what it says to be. Usually its first key, so that little is read; the
// error that ends the scan is only for that.
std::string schema_of(std::string_view text) {
  JsonReader in(text, "");
  std::string found;
  in.members([&](std::string_view key) {
    if (key != "schema" || !in.is_text()) return in.skip();
    in.read(found);
    in.fail("found");
  });
  return found;
}

}  // namespace

template <class Io, Of<BenchResult> S>
void fields(Io& io, S& s) {
  run_part(io, s);
  io.foreign("labels", s.labels);
  io("environment", s.environment);
  workload(io, s);
  io.always("exit", s.exit);
  summary(io, s);
  score(io, s);
  io.lines("comparisons", s.comparisons);
  io("targets", s.targets);
  io("quality", s.quality);
  io("load", s.load);
  io.lines("cells", s.cells);
}

std::string to_json(const BenchResult& result) { return to_json(result, JsonOptions{}); }

std::string to_json(const BenchResult& result, const JsonOptions& options) {
  std::string out;
  result_json(result, options, [&](std::string_view piece) { out += piece; });
  return out;
}

void result_json(const BenchResult& result, const JsonOptions& options, const Sink& sink) {
  std::string piece;
  JsonWriter writer(piece, sink);
  FieldWriting io(writer, options.identify);
  writer.begin('{');
  io("schema", std::string(kSchema));
  fields(io, result);
  writer.end('}');
  piece += '\n';
  writer.flush();
}

Result<BenchResult> from_json(std::string_view text, std::string_view file) {
  JsonReader in(text, file);
  if (const std::string schema = schema_of(text); schema != kSchema && in.is_object()) {
    in.fail(schema.starts_with("genscope.bench/")
                ? "this result is of a newer genscope; update genscope to read it"
                : fmt::format("this is no benchmark result: \"schema\" should be \"{}\"", kSchema));
  }
  BenchResult result;
  FieldReading(in).object(result);
  in.finish();
  if (in.error()) return *in.error();
  return result;
}

Result<BenchResult> read_result(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kLargestResult);
  if (!text) return text.error();
  return from_json(*text, path);
}

Status write_result(const BenchResult& result, const std::string& path) {
  return write_result(result, path, JsonOptions{});
}

Status write_result(const BenchResult& result, const std::string& path,
                    const JsonOptions& options) {
  return base::write_file(
      path, [&](const base::WritePiece& write) { result_json(result, options, write); });
}

}  // namespace genscope::bench
