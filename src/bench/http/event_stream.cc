#include "bench/http/event_stream.h"

namespace genscope::bench {

bool EventStreamReader::take(std::string_view bytes, const OnEvent& event) {
  while (!bytes.empty() && !full_) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
    const std::size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > limit_) {
      full_ = true;
      break;
    }
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(event);
  }
  return !full_;
}

void EventStreamReader::end_line(const OnEvent& event) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view line = line_;
  if (first_ && line.starts_with(kMark)) line.remove_prefix(kMark.size());
  first_ = false;
  if (line.empty()) {  // the event ends
    if (has_data_) event(std::move(data_));
    data_.clear();
    has_data_ = false;
  } else if (const std::string_view name = line.substr(0, line.find(':')); name == "data") {
    line.remove_prefix(name.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
  }
  line_.clear();
}

}  // namespace genscope::bench
