// A benchmark's result: whatever the bytes are, reading says what is wrong or gives a result that
// can be written and read again.
#include <cstdint>
#include <string_view>

#include <genscope/bench.h>

#include "check_tensors.h"

using namespace genscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<bench::BenchResult> first = bench::from_json(bytes, "fuzz.json");
  if (!first) {
    fuzz::demand(first.error().message.starts_with("fuzz.json: "));
    return 0;
  }
  const Result<bench::BenchResult> second =
      bench::from_json(bench::to_json(*first, {.identify = true}), "again.json");
  fuzz::demand(second.ok());
  fuzz::demand(second->cells.size() == first->cells.size());
  fuzz::demand(second->comparisons.size() == first->comparisons.size());
  // Judged and shown, it must not fall over either.
  (void)bench::decide_exit(*second, true);
  (void)bench::compare_results(*first, *second, {});
  (void)bench::compare_sides(*second, {});
  return 0;
}
