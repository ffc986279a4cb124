// The events by which a sampler describes its samples, read back from one trace.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <genscope/trace.h>

namespace genscope::analysis {

// The arguments of one event, looked up by key. Lenient: what is missing is empty or absent.
class EventArgs {
 public:
  EventArgs(const Trace& trace, std::size_t first, std::size_t last)
      : trace_(trace), first_(first), last_(last) {}
  std::string_view text(std::string_view key) const;
  double number(std::string_view key, double fallback) const;

 private:
  static constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);
  std::size_t find(std::string_view key) const;
  const Trace& trace_;
  std::size_t first_, last_;
};

// Calls `visit` for each event whose name starts with "genscope.", with the rest of the name.
void visit_sample_events(
    const Trace& trace,
    const std::function<void(std::int64_t at_ns, std::string_view what, const EventArgs&)>& visit);

}  // namespace genscope::analysis
