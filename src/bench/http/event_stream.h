// Server-sent events, from bytes in any pieces (the event-stream format of the HTML standard).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace genscope::bench {

class EventStreamReader {
 public:
  // `data` of each event that has some: its lines joined by \n. Names, ids and comments are passed
  // over.
  using OnEvent = std::function<void(std::string data)>;

  explicit EventStreamReader(std::size_t limit_bytes) : limit_(limit_bytes) {}

  // False, and for good, once one event or line is larger than the limit.
  bool take(std::string_view bytes, const OnEvent& event);

 private:
  void end_line(const OnEvent& event);

  std::size_t limit_;
  std::string line_, data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // a following \n belongs to the same line end
  bool first_ = true;      // a byte order mark may come
  bool full_ = false;
};

}  // namespace genscope::bench
