// What a program prints, in pieces of any size: whatever it is, each span that a reader of logs
// begins is ended once, below a parent that is open, and nothing is told of a span that is over.
// First byte: the format; second: how the rest is cut.
#include <cstdlib>
#include <set>
#include <string_view>

#include "input.h"
#include "watch/logs/reader.h"

namespace {

using namespace genscope;
using namespace genscope::watch;

void check(bool condition) {
  if (!condition) std::abort();
}

class CheckingSink final : public LogSink {
 public:
  std::uint64_t begin(SpanKind kind, std::string_view name, std::uint64_t parent) override {
    check(kind != SpanKind::none && !name.empty() && name.size() <= Pieces::kMostBytes);
    check(parent == 0 || open_.contains(parent));
    open_.insert(++last_);
    return last_;
  }
  void number(std::uint64_t span, std::string_view key, std::int64_t value) override {
    check(open_.contains(span) && !key.empty() && value >= 0);
  }
  void seconds(std::uint64_t span, std::string_view key, double value) override {
    check(open_.contains(span) && !key.empty() && value >= 0);
  }
  void end(std::uint64_t span, bool) override { check(open_.erase(span) == 1); }
  void fact(std::string_view key, std::string_view value) override {
    check(!key.empty() && value.size() <= Pieces::kMostBytes);
  }
  std::set<std::uint64_t> open_;

 private:
  std::uint64_t last_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.size() < 2) return 0;
  const auto format = static_cast<LogFormat>(static_cast<unsigned char>(text[0]) % 4);
  const std::size_t cut = 1 + static_cast<unsigned char>(text[1]);
  text.remove_prefix(2);
  CheckingSink sink;
  LogReader reader(format, sink);
  Pieces pieces;
  while (!text.empty()) {
    pieces.add(text.substr(0, cut), [&](std::string_view line, PieceEnd end) {
      check(!line.empty() && line.size() <= Pieces::kMostBytes);
      reader.line(line, end);
    });
    text.remove_prefix(std::min(cut, text.size()));
  }
  reader.finish();
  check(sink.open_.empty());
  return 0;
}
