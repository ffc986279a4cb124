// Writes JSON piece by piece into a string, or through it to a sink, 64 KB at a time: a result of
// ten thousand cells needs neither a tree nor its whole text.
//
// Doubles have the fewest digits that read back as the same double; whole ones have no point. What
// JSON cannot say (infinity, NaN) is the string "Infinity", "-Infinity" or "NaN".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace genscope::bench {

class JsonWriter {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit JsonWriter(std::string& out) : out_(out) {}
  // `out` is only what the sink does not have yet; flush() gives it the rest.
  JsonWriter(std::string& out, const Sink& sink) : out_(out), sink_(&sink) {}
  void flush();

  void begin(char bracket);  // '{' or '['
  void end(char bracket);    // '}' or ']'
  void key(std::string_view name);
  void text(std::string_view value);
  void flag(bool value);
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  void number(double value);
  // A thousand times `value`, exactly: its digits with the point moved.
  void thousandfold(double value);
  void line() { line_ = true; }  // for people: what comes next begins a line

 private:
  void separate();
  std::string& out_;
  const Sink* sink_ = nullptr;
  bool first_ = true;  // nothing was written in this object or array
  bool line_ = false;
};

}  // namespace genscope::bench
