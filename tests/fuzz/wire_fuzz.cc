// The pipe of a remote probe. First byte: bytes per read, so that messages arrive in pieces; the
// rest is what a dying child may write. Whatever is understood must survive being said again.
#include <cstdlib>

#include "input.h"
#include "probe/wire.h"

namespace {

using namespace genscope;
using namespace genscope::probe;

void check(bool condition) {
  if (!condition) std::abort();
}

// Says again what it hears, and keeps count.
class Echo final : public WireReader::Handler {
 public:
  explicit Echo(WireWriter& writer) : writer_(writer) {}
  std::size_t messages = 0;

  void on_entity(std::uint32_t entity, Entity what) override {
    messages++;
    check(!name(what.kind).empty());
    writer_.add_entity(entity, what);
  }
  void on_series(std::uint32_t series, std::uint32_t entity, std::string_view metric,
                 std::string_view source) override {
    const Metric* const known = find_metric(metric);
    if (known == nullptr) return;
    messages++;
    writer_.add_series(series, entity, *known, source);
  }
  void on_reading(std::uint32_t series, SampleStatus status, double value,
                  std::string_view reason) override {
    messages++;
    check(!name(status).empty());
    const std::string text(reason.substr(0, reason.find('\0')));
    writer_.add_reading(series, {value, status, text.c_str(), 0});
  }
  void on_event(std::uint32_t entity, std::string_view what, std::string_view detail) override {
    messages++;
    writer_.add_event(entity, what, detail);
  }
  void on_processes(std::uint32_t entity, std::span<const ProcessRow> rows) override {
    messages++;
    for (const ProcessRow& row : rows) {
      check(row.name[sizeof row.name - 1] == '\0');
      check(!name(row.cpu_ns.status).empty() && !name(row.gpu_memory_bytes.status).empty());
    }
    writer_.set_processes(entity, rows);
  }
  void on_state(std::string_view probe, ProbeState state) override {
    messages++;
    check(!name(state.kind).empty());
    writer_.add_state(probe, state);
  }

 private:
  WireWriter& writer_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  WireWriter said;
  Echo first(said);
  WireReader reader;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    if (!reader.feed(part, first)) break;
    bytes.remove_prefix(part.size());
  }
  WireWriter again;
  Echo second(again);
  WireReader fresh;
  check(fresh.feed(said.out(), second));
  check(second.messages == first.messages);
  check(said.out() == again.out());
  return 0;
}
