// Any bytes as a Chrome trace, plain or gzip. What is imported must hold together, be written, and
// come back with the same spans. And both ways to scan bytes must say the same of them.
#include <algorithm>

#include "check_trace.h"
#include "genscope/store.h"
#include "input.h"
#include "store/import/scan.h"

namespace {

void check_scan(const char* p, const char* end) {
  using namespace genscope::store;
  GENSCOPE_FUZZ_CHECK(scan::Best::text_end(p, end) == scan::Bytes::text_end(p, end));
  GENSCOPE_FUZZ_CHECK(scan::Best::blanks_end(p, end) == scan::Bytes::blanks_end(p, end));
  GENSCOPE_FUZZ_CHECK(scan::Best::scalar_end(p, end) == scan::Bytes::scalar_end(p, end));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace genscope;
  const char* const bytes = reinterpret_cast<const char*>(data);
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 64); ++i)
    check_scan(bytes + i, bytes + size);
  static const std::string path = fuzz::scratch() + "/input.json";
  static const std::string written = fuzz::scratch() + "/trace-1-0.gst";
  fuzz::write(path, std::as_bytes(std::span(data, size)));
  ImportOptions options;
  options.max_bytes = 16 << 20;
  const auto imported = import_chrome_trace(path, options);
  if (!imported.ok()) {
    GENSCOPE_FUZZ_CHECK(!imported.error().message.empty());
    return 0;
  }
  fuzz::check_trace(imported->trace);
  GENSCOPE_FUZZ_CHECK(write_trace(imported->trace, written).ok());
  const auto back = read_trace(written);
  GENSCOPE_FUZZ_CHECK(back.ok() && back->integrity.bad_words == 0 && back->integrity.closed);
  fuzz::check_trace(*back);
  GENSCOPE_FUZZ_CHECK(back->spans.begin_ns == imported->trace.spans.begin_ns);
  GENSCOPE_FUZZ_CHECK(back->spans.duration_ns == imported->trace.spans.duration_ns);
  GENSCOPE_FUZZ_CHECK(back->spans.parent == imported->trace.spans.parent);
  GENSCOPE_FUZZ_CHECK(back->spans.flags == imported->trace.spans.flags);
  GENSCOPE_FUZZ_CHECK(back->events.span == imported->trace.events.span);
  GENSCOPE_FUZZ_CHECK(back->counters.at_ns == imported->trace.counters.at_ns);
  return 0;
}
