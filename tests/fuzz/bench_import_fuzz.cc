// Results of other tools, and our own small files: any bytes give a result in order, or one error
// that names the file.
#include <cmath>
#include <cstdint>
#include <string_view>

#include <genscope/bench.h>

#include "check_trace.h"

namespace {

using namespace genscope;

void check(const bench::BenchResult& result) {
  GENSCOPE_FUZZ_CHECK(!result.cells.empty());
  GENSCOPE_FUZZ_CHECK(result.workload.contains("imported_from"));
  for (const bench::Cell& cell : result.cells) {
    for (const bench::Unit& unit : cell.units) {
      for (const bench::Sample& sample : unit.samples) {
        for (const auto& [name, value] : sample.metrics) GENSCOPE_FUZZ_CHECK(std::isfinite(value));
      }
    }
  }
  // What was imported can be kept: its JSON is read back.
  const std::string text = bench::to_json(result);
  GENSCOPE_FUZZ_CHECK(bench::from_json(text, "again").ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<bench::BenchResult> result = bench::import_result(text, "fuzz.json");
  if (!result.ok()) {
    GENSCOPE_FUZZ_CHECK(result.error().message.starts_with("fuzz.json"));
  } else {
    check(*result);
  }
  return 0;
}
