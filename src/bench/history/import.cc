// Results of other tools. The three formats are read by one pass into a list of benchmarks,
// whatever the order of their keys; which tool it was is known at the end, by the keys that were
// there.
//
// What counts as a unit is decided here, for verdicts count units. hyperfine starts a process for
// each time: each is a unit. Google Benchmark and pytest-benchmark repeat within one process: a
// file is one unit with several samples, and several files of the same benchmarks are several units
// (merge_imports).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <genscope/bench.h>

#include "base/printable.h"
#include "bench/history/import.h"
#include "bench/result/json_reader.h"
#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMaxCells = 100'000;

// One command or benchmark, of any tool.
struct Imported {
  std::string name;            // command; name; fullname
  Params params;               // of hyperfine
  std::vector<double> times;   // hyperfine's times, pytest's stats.data: seconds
  std::vector<double> memory;  // hyperfine's memory_usage_byte
  std::vector<std::optional<std::int64_t>> exit_codes;
  bool has_times = false;
  // Google Benchmark: one entry is one repetition.
  std::string run_name, run_type, time_unit, error_message;
  std::optional<double> real_time, cpu_time;
  bool error_occurred = false, skipped = false;
};

struct ImportedFile {
  std::vector<Imported> hyperfine, benchmarks;
  bool has_results = false, has_benchmarks = false, has_context = false, has_machine = false;
  std::map<std::string, std::string> machine;  // what we keep of context and machine_info
  std::string date, commit, branch, tool_version;
  std::optional<bool> dirty;
};

void read_measured(JsonReader& in, std::vector<double>& out) {
  in.elements([&] {
    double value = 0;
    in.read(value);
    if (in.ok() && !(std::isfinite(value) && value >= 0)) {
      in.fail("a measured value is a finite number, not below 0");
    }
    out.push_back(value);
  });
}

// A scalar as text; what is no scalar is skipped.
void read_text_of_any(JsonReader& in, std::string& out) {
  if (in.is_text()) {
    in.read(out);
  } else {
    in.skip();
  }
}

// The value of one key that both take; false if it is for nobody.
bool read_google_field(JsonReader& in, std::string_view key, Imported& one) {
  const auto number = [&](std::optional<double>& out) { in.read(out.emplace()); };
  if (key == "run_name") return in.read(one.run_name), true;
  if (key == "run_type") return in.read(one.run_type), true;
  if (key == "time_unit") return in.read(one.time_unit), true;
  if (key == "error_message" || key == "skip_message") return in.read(one.error_message), true;
  if (key == "real_time") return number(one.real_time), true;
  if (key == "cpu_time") return number(one.cpu_time), true;
  if (key == "error_occurred") return in.read(one.error_occurred), true;
  if (key == "skipped") return in.read(one.skipped), true;
  return false;
}

void read_benchmark(JsonReader& in, std::vector<Imported>& all) {
  if (all.size() >= kMaxCells * 16) return in.fail("too many benchmarks for one file");
  Imported one;
  std::string full_name;
  in.members([&](std::string_view key) {
    if (key == "name") {
      in.read(one.name);
    } else if (key == "fullname") {
      in.read(full_name);
    } else if (key == "stats") {
      in.members([&](std::string_view inner) {
        if (inner != "data") return in.skip();
        if (in.null()) return;
        one.has_times = true;
        read_measured(in, one.times);
      });
    } else if (!read_google_field(in, key, one)) {
      in.skip();
    }
  });
  if (!full_name.empty()) one.name = full_name;
  all.push_back(std::move(one));
}

void read_hyperfine(JsonReader& in, std::vector<Imported>& all) {
  if (all.size() >= kMaxCells) return in.fail("too many commands for one file");
  Imported one;
  in.members([&](std::string_view key) {
    if (key == "command") {
      in.read(one.name);
    } else if (key == "times") {
      one.has_times = true;
      read_measured(in, one.times);
    } else if (key == "memory_usage_byte") {
      read_measured(in, one.memory);
    } else if (key == "exit_codes") {
      in.elements([&] {
        one.exit_codes.emplace_back();
        if (!in.null()) in.read(one.exit_codes.back().emplace());
      });
    } else if (key == "parameters") {
      in.members([&](std::string_view name) {
        std::string value;
        in.read(value);
        one.params.emplace_back(name, value);
      });
    } else {
      in.skip();
    }
  });
  if (in.ok() && one.name.empty()) in.fail("it has no command");
  if (in.ok() && !one.has_times) in.fail("it has no times; export with --export-json");
  all.push_back(std::move(one));
}

void read_machine(JsonReader& in, ImportedFile& file) {
  in.members([&](std::string_view key) {
    if (key == "date") return in.read(file.date);
    if (key == "num_cpus") {
      std::uint64_t n = 0;
      in.read(n);
      file.machine["cores"] = std::to_string(n);
      return;
    }
    if (key == "cpu" && in.is_object()) {
      return in.members([&](std::string_view inner) {
        if (inner == "brand_raw") return in.read(file.machine["cpu"]);
        if (inner != "count") return in.skip();
        std::uint64_t n = 0;
        in.read(n);
        file.machine["cores"] = std::to_string(n);
      });
    }
    // Not the host's name: results are shared.
    for (const char* const kept :
         {"system", "release", "machine", "python_version", "python_implementation",
          "library_build_type", "library_version"}) {
      if (key == kept) return read_text_of_any(in, file.machine[kept]);
    }
    in.skip();
  });
}

void read_commit(JsonReader& in, ImportedFile& file) {
  in.members([&](std::string_view key) {
    if (key == "id") return read_text_of_any(in, file.commit);
    if (key == "branch") return read_text_of_any(in, file.branch);
    if (key == "dirty" && !in.null()) return in.read(file.dirty.emplace());
    in.skip();
  });
}

void read_import(JsonReader& in, ImportedFile& file) {
  in.members([&](std::string_view key) {
    if (key == "results") {
      file.has_results = true;
      in.elements([&] { read_hyperfine(in, file.hyperfine); });
    } else if (key == "benchmarks") {
      file.has_benchmarks = true;
      in.elements([&] { read_benchmark(in, file.benchmarks); });
    } else if (key == "context") {
      file.has_context = true;
      read_machine(in, file);
    } else if (key == "machine_info") {
      file.has_machine = true;
      read_machine(in, file);
    } else if (key == "commit_info" && in.is_object()) {
      read_commit(in, file);
    } else if (key == "datetime") {
      in.read(file.date);
    } else if (key == "version") {
      read_text_of_any(in, file.tool_version);
    } else {
      in.skip();
    }
  });
  in.finish();
}

Sample imported_sample(std::uint64_t iteration, double seconds) {
  Sample sample;
  sample.iteration = iteration;
  sample.metrics["latency_s"] = seconds;
  return sample;
}

Unit imported_unit(std::uint32_t process) {
  Unit unit;
  unit.process = process;
  unit.order_index = process;
  return unit;
}

Cell hyperfine_cell(const Imported& one) {
  Cell cell;
  cell.id = one.name;
  cell.params = one.params;
  for (std::size_t i = 0; i < one.times.size(); ++i) {
    Unit unit = imported_unit(static_cast<std::uint32_t>(i));
    Sample sample = imported_sample(0, one.times[i]);
    if (i < one.memory.size() && one.memory[i] > 0) {
      sample.metrics["rss_peak_bytes"] = one.memory[i];
    }
    // hyperfine stops at a failure unless it was told to ignore it, and then counts it.
    if (i < one.exit_codes.size() && one.exit_codes[i].value_or(0) != 0) {
      sample.flags.push_back(fmt::format("exit_code_{}", *one.exit_codes[i]));
    }
    unit.samples.push_back(std::move(sample));
    cell.units.push_back(std::move(unit));
  }
  return cell;
}

Cell pytest_cell(const Imported& one) {
  Cell cell;
  cell.id = one.name;
  Unit unit = imported_unit(0);
  for (std::size_t i = 0; i < one.times.size(); ++i) {
    unit.samples.push_back(imported_sample(i, one.times[i]));
  }
  if (!unit.samples.empty()) cell.units.push_back(std::move(unit));
  return cell;
}

std::optional<double> time_scale(const std::string& unit) {
  if (unit == "ns" || unit.empty()) return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  return std::nullopt;
}

// Adds one repetition; what is wrong with it, or nothing.
std::string add_repetition(const Imported& one, Cell& cell) {
  if (one.error_occurred || one.skipped) {
    cell.status = one.skipped ? "skipped" : "failed";
    cell.failure =
        Failure{one.skipped ? FailureClass::skipped : FailureClass::bad_output, one.error_message};
    return "";
  }
  const std::optional<double> scale = time_scale(one.time_unit);
  if (!scale) return fmt::format("time_unit '{}' is not known", base::printable(one.time_unit));
  if (!one.real_time || !std::isfinite(*one.real_time) || *one.real_time < 0) {
    return "it has no real_time that is a number of at least 0";
  }
  if (cell.units.empty()) cell.units.push_back(imported_unit(0));
  std::vector<Sample>& samples = cell.units.front().samples;
  samples.push_back(imported_sample(samples.size(), *one.real_time * *scale));
  if (one.cpu_time && std::isfinite(*one.cpu_time) && *one.cpu_time >= 0) {
    samples.back().metrics["cpu_s"] = *one.cpu_time * *scale;
  }
  return "";
}

Status google_cells(const std::vector<Imported>& all, std::string_view file, BenchResult& result) {
  std::map<std::string, std::size_t> places;
  std::size_t aggregates = 0;
  for (const Imported& one : all) {
    if (one.run_type == "aggregate") {
      ++aggregates;
      continue;
    }
    const std::string& name = one.run_name.empty() ? one.name : one.run_name;
    const auto [place, is_new] = places.emplace(name, result.cells.size());
    if (is_new) result.cells.emplace_back().id = name;
    const std::string wrong = add_repetition(one, result.cells[place->second]);
    if (!wrong.empty()) {
      return Error{ErrorCode::bad_data,
                   fmt::format("{}: benchmark {}: {}", file, base::printable(name), wrong)};
    }
  }
  if (result.cells.empty() && aggregates > 0) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: it holds aggregates only; run the benchmark without "
                             "--benchmark_report_aggregates_only",
                             file)};
  }
  return Done{};
}

Status pytest_cells(const std::vector<Imported>& all, std::string_view file, BenchResult& result) {
  for (const Imported& one : all) {
    if (!one.has_times) {
      return Error{ErrorCode::bad_data,
                   fmt::format("{}: benchmark {} has no stats.data; save with --benchmark-json, or "
                               "with --benchmark-save-data",
                               file, base::printable(one.name))};
    }
    result.cells.push_back(pytest_cell(one));
  }
  return Done{};
}

// A cell's id that another one has too.
std::optional<std::string> repeated_id(const std::vector<Cell>& cells) {
  std::set<std::string_view> seen;
  for (const Cell& cell : cells) {
    if (!seen.insert(cell.id).second) return cell.id;
  }
  return std::nullopt;
}

void finish_import(BenchResult& result, const ImportedFile& file, const std::string& tool) {
  result.started = file.date;
  // pytest-benchmark writes no offset; it is UTC there.
  if (!parse_timestamp(result.started) && parse_timestamp(result.started + "Z")) {
    result.started += "Z";
  }
  if (const auto ns = parse_timestamp(result.started)) {
    result.started = timestamp(*ns);
  } else {
    result.started.clear();
  }
  result.git_sha = file.commit;
  result.git_branch = file.branch;
  result.git_dirty = file.dirty;
  result.labels["A"] = tool;
  result.workload["imported_from"] = tool;
  if (!file.tool_version.empty()) result.workload["imported_version"] = file.tool_version;
  result.environment.fingerprint = file.machine;
  std::erase_if(result.environment.fingerprint,
                [](const auto& item) { return item.second.empty(); });
  std::string klass;
  for (const char* const part : {"cpu", "cores", "system", "machine"}) {
    const auto found = result.environment.fingerprint.find(part);
    if (found != result.environment.fingerprint.end()) klass += ", " + found->second;
  }
  result.environment.klass = klass.empty() ? "" : "imported: " + klass.substr(2);
  for (Cell& cell : result.cells) summarize(cell);
}

}  // namespace

Result<BenchResult> import_result(std::string_view text, std::string_view file) {
  JsonReader reader(text, file);
  ImportedFile read;
  read_import(reader, read);
  if (reader.error()) return *reader.error();
  BenchResult result;
  std::string tool;
  Status made = Done{};
  if (read.has_results) {
    tool = "hyperfine";
    for (const Imported& one : read.hyperfine) result.cells.push_back(hyperfine_cell(one));
  } else if (read.has_benchmarks && read.has_machine) {
    tool = "pytest-benchmark";
    made = pytest_cells(read.benchmarks, file, result);
  } else if (read.has_benchmarks && read.has_context) {
    tool = "google-benchmark";
    made = google_cells(read.benchmarks, file, result);
  } else {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: not the JSON of hyperfine (results), Google Benchmark (context, "
                             "benchmarks) or pytest-benchmark (machine_info, benchmarks)",
                             file)};
  }
  if (!made) return made.error();
  if (result.cells.empty()) {
    return Error{ErrorCode::bad_data, fmt::format("{}: it holds no benchmark", file)};
  }
  if (std::ranges::any_of(result.cells, [](const Cell& cell) { return cell.id.empty(); })) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: a benchmark has no name; give each its own", file)};
  }
  if (const std::optional<std::string> twice = repeated_id(result.cells)) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: '{}' comes twice; give each its own name (hyperfine "
                             "--command-name)",
                             file, base::printable(*twice))};
  }
  finish_import(result, read, tool);
  return result;
}

Status merge_import(BenchResult& all, const BenchResult& more, std::string_view file) {
  const auto tool = [](const BenchResult& one) { return one.workload.at("imported_from"); };
  if (tool(all) != tool(more)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: it is of {}, the files before it of {}; import them apart", file,
                             tool(more), tool(all))};
  }
  if (all.environment.klass != more.environment.klass) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: it is of another machine ({}) than the files before it ({}); "
                             "import them apart",
                             file, base::printable(more.environment.klass),
                             base::printable(all.environment.klass))};
  }
  for (const Cell& cell : more.cells) {
    const auto found = std::ranges::find(all.cells, cell.id, &Cell::id);
    if (found == all.cells.end()) {
      all.cells.push_back(cell);
      continue;
    }
    for (Unit unit : cell.units) {
      unit.process = unit.order_index = static_cast<std::uint32_t>(found->units.size());
      found->units.push_back(std::move(unit));
    }
    summarize(*found);
  }
  return Done{};
}

}  // namespace genscope::bench
