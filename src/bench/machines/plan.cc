#include "bench/machines/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <ctime>
#include <random>

#include "base/checksum.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/result/json_fields.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kPlanSchema = "genscope.bench-plan/1";
constexpr std::size_t kMaxPlanBytes = std::size_t{256} << 20;

void write_params(JsonWriter& out, const Params& params) {
  out.key("params");
  out.begin('{');
  for (const auto& [name, value] : params) {
    out.key(name);
    out.text(value);
  }
  out.end('}');
}

void read_params(JsonReader& in, Params& params) {
  in.members([&](std::string_view key) {
    std::string value;
    in.read(value);
    params.emplace_back(key, std::move(value));
  });
}

// Id and parameters, and what `own` takes: false of a key that it does not know.
template <class SomeCell, class Own>
void read_some_cell(JsonReader& in, SomeCell& cell, const Own& own) {
  in.members([&](std::string_view key) {
    if (key == "id") {
      in.read(cell.id);
    } else if (key == "params") {
      read_params(in, cell.params);
    } else if (!own(key)) {
      in.skip();
    }
  });
}

void read_cell(JsonReader& in, PlanCell& cell) {
  read_some_cell(in, cell, [&](std::string_view key) {
    if (key != "estimated_s") return false;
    in.read(cell.estimated_s.emplace());
    return true;
  });
  if (in.ok() && cell.id.empty()) in.fail("a cell without an id; make the plan anew");
}

void read_skipped(JsonReader& in, PlannedCell& cell) {
  read_some_cell(in, cell, [&](std::string_view key) {
    if (key != "why") return false;
    in.read(cell.skipped);
    return true;
  });
}

}  // namespace

Result<Plan> make_plan(const Suite& suite, std::string text, std::uint64_t seed,
                       std::string_view only) {
  Result<std::vector<PlannedCell>> cells = plan_suite(suite, seed, only);
  if (!cells) return cells.error();
  Plan plan;
  plan.suite = suite.name;
  plan.suite_hash = suite.hash;
  plan.suite_file = base::absolute_path(suite.file);
  plan.suite_text = std::move(text);
  plan.seed = seed;
  for (PlannedCell& cell : *cells) {
    if (cell.skipped.empty()) {
      plan.cells.push_back({std::move(cell.id), std::move(cell.params), suite.timeout.cell_s});
    } else {
      plan.skipped.push_back(std::move(cell));
    }
  }
  if (plan.cells.empty()) {
    return Error{ErrorCode::invalid_argument,
                 suite.file + ": no cell is left to run; look at `exclude` and `--only`"};
  }
  return plan;
}

std::string to_json(const Plan& plan) {
  std::string text;
  JsonWriter out(text);
  out.begin('{');
  out.key("schema");
  out.text(kPlanSchema);
  out.key("suite");
  out.text(plan.suite);
  out.key("suite_hash");
  out.text(plan.suite_hash);
  out.key("suite_file");
  out.text(plan.suite_file);
  out.key("suite_text");
  out.text(plan.suite_text);
  out.key("seed");
  out.natural(plan.seed);
  out.key("cells");
  out.begin('[');
  for (const PlanCell& cell : plan.cells) {
    out.begin('{');
    out.key("id");
    out.text(cell.id);
    write_params(out, cell.params);
    if (cell.estimated_s) {
      out.key("estimated_s");
      out.number(*cell.estimated_s);
    }
    out.end('}');
    out.line();
  }
  out.end(']');
  out.key("skipped");
  out.begin('[');
  for (const PlannedCell& cell : plan.skipped) {
    out.begin('{');
    out.key("id");
    out.text(cell.id);
    write_params(out, cell.params);
    out.key("why");
    out.text(cell.skipped);
    out.end('}');
    out.line();
  }
  out.end(']');
  out.end('}');
  out.line();
  return text;
}

Result<Plan> read_plan(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxPlanBytes);
  if (!text) return text.error();
  Plan plan;
  std::string schema;
  JsonReader in(*text, path);
  in.members([&](std::string_view key) {
    if (key == "schema") {
      in.read(schema);
    } else if (key == "suite") {
      in.read(plan.suite);
    } else if (key == "suite_hash") {
      in.read(plan.suite_hash);
    } else if (key == "suite_file") {
      in.read(plan.suite_file);
    } else if (key == "suite_text") {
      in.read(plan.suite_text);
    } else if (key == "seed") {
      in.read(plan.seed);
    } else if (key == "cells") {
      in.elements([&] { read_cell(in, plan.cells.emplace_back()); });
    } else if (key == "skipped") {
      in.elements([&] { read_skipped(in, plan.skipped.emplace_back()); });
    } else {
      in.skip();
    }
  });
  in.finish();
  if (in.error()) return *in.error();
  if (schema != kPlanSchema) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: this is no plan of `genscope bench plan`: schema is \"{}\", not "
                             "\"{}\"",
                             path, schema, kPlanSchema)};
  }
  return plan;
}

Result<Suite> suite_of(const Plan& plan) {
  Result<Suite> suite = parse_suite(plan.suite_text, plan.suite_file);
  if (suite && suite->hash != plan.suite_hash) {
    return Error{ErrorCode::invalid_argument,
                 plan.suite_file +
                     ": what the plan was made from has changed since (its file of "
                     "prompts); make a new plan with `genscope bench plan`"};
  }
  return suite;
}

std::string cell_folder(const std::string& id) {
  return base::file_name_from(id, 60) +
         fmt::format("-{:016x}", base::checksum(id.data(), id.size()));
}

Result<std::optional<std::uint64_t>> index_from_environment() {
  for (const char* name : {"GENSCOPE_CELL_INDEX", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    std::uint64_t index = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (bad != std::errc() || end != text.data() + text.size()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("${} is '{}'; it must be the number of a cell, from 0", name, text)};
    }
    return std::optional(index);
  }
  return std::optional<std::uint64_t>();
}

std::string attempt_name() {
  std::string name;
  const char* const job = std::getenv("SLURM_ARRAY_JOB_ID");
  const char* const restarts = std::getenv("SLURM_RESTART_COUNT");
  if (job != nullptr) name = fmt::format("slurm{}-{}-", job, restarts == nullptr ? "0" : restarts);
  std::random_device random;
  return base::file_name_from(
      name + fmt::format("{}-{}-{:08x}", std::time(nullptr), ::getpid(), random()), 80);
}

}  // namespace genscope::bench
