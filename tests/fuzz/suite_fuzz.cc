// Suite files and journals: any text gives a suite whose cells have names of their own, or an error
// with a line for each mistake that names the file.
#include <algorithm>
#include <set>
#include <string>

#include "bench/result/cell_json.h"
#include "bench/suite/journal.h"
#include "bench/suite/suite.h"
#include "check_trace.h"

namespace {

using namespace genscope;

void check_lines(std::string_view message) {
  while (!message.empty()) {
    GENSCOPE_FUZZ_CHECK(message.starts_with("fuzz.yaml:"));
    message.remove_prefix(std::min(message.find('\n'), message.size() - 1) + 1);
  }
}

void check_plan(const bench::Suite& suite) {
  const auto plan = bench::plan_suite(suite, 3, "1 < 2");
  GENSCOPE_FUZZ_CHECK(plan.ok());
  std::set<std::string> ids;
  for (const bench::PlannedCell& cell : *plan) {
    GENSCOPE_FUZZ_CHECK(ids.insert(cell.id).second);
    GENSCOPE_FUZZ_CHECK(cell.id.find('/') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;  // large matrices are slow, not interesting
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<bench::Suite> suite = bench::parse_suite(text, "fuzz.yaml");
  if (suite.ok()) {
    GENSCOPE_FUZZ_CHECK(!suite->name.empty() && suite->hash.size() == 16);
    check_plan(*suite);
  } else {
    check_lines(suite.error().message);
  }
  std::size_t cells = 0;
  const auto count = [&](bench::Cell&&) { ++cells; };
  const auto count_unit = [&](bench::JournalUnit&& unit) {
    ++cells;
    static_cast<void>(bench::cell_from_json(unit.cell, "fuzz.jsonl"));
  };
  const auto read = bench::read_journal(text, "fuzz.jsonl", {.unit = count_unit, .cell = count});
  if (read.ok()) GENSCOPE_FUZZ_CHECK(cells + read->damaged < read->lines);
  return 0;
}
