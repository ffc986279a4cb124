// One event of a Chrome trace, as it stands in the file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "store/import/json_cursor.h"

namespace genscope::store {

struct ChromeEvent {
  struct Arg {
    std::string_view key;
    JsonType type = JsonType::null;
    std::string_view text;  // of a string its content, of anything else its bytes in the file
  };

  char phase = 0;
  std::string_view name, category;
  std::string_view pid, tid;  // numbers or strings: both are just names of something
  std::string_view id;        // of async events and counters; with `id2`, whichever it has
  bool id_is_local = false;   // id2.local: known in its process only
  bool has_time = false, has_duration = false;
  std::int64_t at_ns = 0, duration_ns = 0;
  bool has_fraction = false;  // some time has a part below the microsecond
  std::vector<Arg> args;

  void clear();
};

// Parses the object at the cursor. Of a key that comes twice the last counts; unknown ones are
// skipped. Bad is what is no JSON, or a field of a type that it cannot have. Views in `event` point
// into the cursor's block and into `pool`.
Scan parse_event(JsonCursor& cursor, StringPool& pool, ChromeEvent& event);
// Why parse_event said bad.
const char* parse_problem(const JsonCursor& cursor, const ChromeEvent& event);

}  // namespace genscope::store
