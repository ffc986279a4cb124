// Makes events of a Chrome trace for what comes from another format, so that one mapper serves all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "store/import/chrome_reader.h"

namespace genscope::store {

// What a reader of such a format tells of its file.
struct ForeignRead {
  std::uint64_t bytes = 0;         // of the file, inflated
  std::uint64_t malformed = 0;     // records that were left out
  std::string problem;             // the first of them
  bool stopped = false;            // by max_events
  std::vector<std::string> notes;  // what a reader of the run must know

  void complain(std::string_view what) {
    if (malformed++ == 0) problem = what;
  }
};

// One event at a time: start it, add to it, send it. Texts given must live until then.
class Emitter {
 public:
  Emitter(ChromeHandler& handler, ForeignRead& told) : handler_(handler), told_(told) {}

  Emitter& start(char phase, std::string_view name, std::string_view category, std::int64_t at_ns) {
    event_.clear();
    pool_.reset();
    event_.phase = phase;
    event_.name = name;
    event_.category = category;
    event_.pid = "1";
    event_.has_time = phase != 'M';
    event_.at_ns = at_ns;
    event_.has_fraction = true;  // times are nanoseconds: nothing is rounded to microseconds
    return *this;
  }
  Emitter& on(std::string_view tid) {
    event_.tid = tid;
    return *this;
  }
  Emitter& of(std::string_view pid, std::string_view tid) {
    event_.pid = pid;
    event_.tid = tid;
    return *this;
  }
  Emitter& lasting(std::int64_t ns) {
    event_.has_duration = true;
    event_.duration_ns = ns;
    return *this;
  }
  Emitter& id(std::string_view id) {
    event_.id = id;
    return *this;
  }
  Emitter& text(std::string_view key, std::string_view value) {
    if (!value.empty()) event_.args.push_back({key, JsonType::string, value});
    return *this;
  }
  template <class Number>
  Emitter& number(std::string_view key, Number value) {
    std::string& kept = pool_.next();
    fmt::format_to(std::back_inserter(kept), "{}", value);
    event_.args.push_back({key, JsonType::number, kept});
    return *this;
  }
  void send() {
    if (const char* const wrong = handler_.event(event_)) told_.complain(wrong);
  }

 private:
  ChromeHandler& handler_;
  ForeignRead& told_;
  ChromeEvent event_;
  StringPool pool_;
};

}  // namespace genscope::store
