// A value is parsed where it lies in the block. If the block ends within it, more is read and it is
// parsed anew from its first byte: for events of some hundred bytes and a block of megabytes that
// costs nothing, and the parser needs no state. What cannot be parsed is passed over by its
// brackets, up to where the next event may begin, so damage costs the events that it hit and no
// others.
#include "store/import/chrome_reader.h"

#include <cstring>

namespace genscope::store {

bool ChromeReader::fill() {
  if (ended_ || stopped_) return false;
  if (at_ > 0) {
    std::memmove(block_.data(), block_.data() + at_, filled_ - at_);
    block_offset_ += at_;
    filled_ -= at_;
    at_ = 0;
  }
  if (filled_ == block_.size()) {
    if (block_.size() >= kMaxEventBytes) return false;
    block_.resize(block_.size() * 2);
  }
  Result<std::size_t> n = source_.read(block_.data() + filled_, block_.size() - filled_);
  if (!n.ok()) {
    failure_ = n.error();
    ended_ = true;
    return false;
  }
  filled_ += *n;
  ended_ = *n == 0;
  if (!handler_->progress()) stopped_ = true;
  return !ended_ && !stopped_;
}

char ChromeReader::peek() {
  for (;;) {
    for (; at_ < filled_; ++at_) {
      const char c = block_[at_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
    }
    if (!fill()) return '\0';
  }
}

template <class Parse>
Scan ChromeReader::attempt(Parse parse) {
  for (;;) {
    JsonCursor cursor(block_.data() + at_, block_.data() + filled_);
    const Scan result = parse(cursor);
    if (result == Scan::ok) {
      at_ = static_cast<std::size_t>(cursor.at() - block_.data());
      repaired_ += cursor.repaired();
      return result;
    }
    if (result == Scan::bad || !fill()) return result;
  }
}

void ChromeReader::pass() {
  std::uint64_t depth = 0;
  bool in_string = false;
  bool begun = false;
  for (;;) {
    for (; at_ < filled_; ++at_) {
      const char c = block_[at_];
      if (in_string) {
        if (c == '\\') {
          // The escaped byte may be in the next block.
          if (at_ + 1 == filled_ && !fill()) break;
          ++at_;
        } else if (c == '"') {
          in_string = false;
          if (depth == 0) return static_cast<void>(++at_);
        }
      } else if (c == '"') {
        in_string = begun = true;
      } else if (c == '{' || c == '[') {
        ++depth;
        begun = true;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return;
        if (--depth == 0) return static_cast<void>(++at_);
      } else if (depth == 0 && begun && c == ',') {
        return;
      } else {
        begun = true;
      }
    }
    if (!fill()) return;
  }
}

void ChromeReader::pass_until(std::string_view stops) {
  while (peek() != '\0') {
    if (stops.find(block_[at_]) != std::string_view::npos) return;
    ++at_;
  }
}

void ChromeReader::complain(std::uint64_t offset, std::string_view what) {
  if (problems_.size() < kMaxTold) {
    problems_.push_back("at byte " + std::to_string(offset) + ": " + std::string(what));
  }
}

void ChromeReader::cut_off(std::uint64_t offset, const char* where) {
  if (stopped_ || !failure_.ok()) return;
  truncated_ = true;
  complain(offset, where);
}

void ChromeReader::one_event(ChromeHandler& handler) {
  const char* problem = nullptr;
  const std::uint64_t at = offset();
  const Scan result = attempt([&](JsonCursor& cursor) {
    const Scan r = parse_event(cursor, pool_, event_);
    if (r == Scan::bad) problem = parse_problem(cursor, event_);
    if (r == Scan::ok) problem = handler.event(event_);
    return r;
  });
  if (result == Scan::more && ended_) {
    at_ = filled_;
    return cut_off(at, "the file ends within an event: it was cut off there");
  }
  if (stopped_) return;
  if (result == Scan::more) problem = "an event of more than 16 MiB";
  if (problem != nullptr) {
    malformed_++;
    complain(at, problem);
  }
  if (result != Scan::ok) pass();
}

void ChromeReader::events(ChromeHandler& handler, bool may_end) {
  found_events_ = true;
  ++at_;  // the bracket
  for (;;) {
    const char c = peek();
    if (stopped_ || !failure_.ok()) return;
    if (c == '\0' && ended_) {
      if (!may_end) cut_off(offset(), "the file ends within traceEvents: it was cut off there");
      return;
    }
    if (c == ']') return static_cast<void>(++at_);
    if (c == '{') {
      one_event(handler);
    } else if (c == ',') {
      ++at_;
    } else {
      malformed_++;
      complain(offset(), "something that is no event");
      if (c == '[' || c == '"') {
        pass();
      } else {
        ++at_;
        pass_until(",]{");
      }
    }
  }
}

void ChromeReader::member(ChromeHandler& handler, const std::string& key) {
  const char c = peek();
  if (key == "traceEvents" && c == '[') return events(handler, false);
  if (!handler.wants(key)) return pass();
  std::string_view json;
  // A scalar ends where the next thing begins, so the block must reach there.
  const Scan result = attempt([&](JsonCursor& cursor) { return cursor.skip(json); });
  if (result == Scan::ok) return handler.field(key, json);
  malformed_++;
  complain(offset(), "the value of " + key + " is not JSON");
  pass();
}

void ChromeReader::object(ChromeHandler& handler) {
  ++at_;  // the brace
  for (;;) {
    const char c = peek();
    if (stopped_ || !failure_.ok()) return;
    if (c == '}') return;
    if (c == '\0' && ended_) return cut_off(offset(), "the file ends early: it was cut off there");
    if (c == ',') {
      ++at_;
      continue;
    }
    std::string_view key;
    const Scan result = attempt([&](JsonCursor& cursor) {
      char next = 0;
      if (const Scan r = cursor.next_byte(next); r != Scan::ok) return r;
      if (next != '"') return cursor.expect('"');
      pool_.reset();
      if (const Scan r = cursor.string(key, pool_); r != Scan::ok) return r;
      return cursor.expect(':');
    });
    if (result == Scan::ok) {
      member(handler, std::string(key));
      continue;
    }
    const std::uint64_t at = offset();
    if (result == Scan::more && ended_) {
      return cut_off(at, "the file ends early: it was cut off there");
    }
    malformed_++;
    complain(at, "something else than a key and a colon");
    ++at_;
    pass_until(",}");
  }
}

Status ChromeReader::read(ChromeHandler& handler) {
  handler_ = &handler;
  char first = peek();
  if (first == '\xEF' && filled_ - at_ >= 3 && std::memcmp(&block_[at_], "\xEF\xBB\xBF", 3) == 0) {
    at_ += 3;  // a byte order mark
    first = peek();
  }
  if (!failure_.ok()) return failure_;
  if (first == '[') {
    events(handler, true);
  } else if (first == '{') {
    object(handler);
  } else {
    return Error{ErrorCode::bad_data, path_ +
                                          (first == '\0' && ended_ ? " is empty" : " is no JSON") +
                                          ": a Chrome trace begins with { or [, plain or in gzip"};
  }
  if (!failure_.ok()) return failure_;
  if (!found_events_) {
    return Error{ErrorCode::bad_data,
                 path_ + " has no \"traceEvents\" array: it is no Chrome or PyTorch trace" +
                     (truncated_ ? ", or was cut off before it" : "")};
  }
  if (!source_.problem().empty()) {
    truncated_ = true;
    problems_.push_back(source_.problem());
  }
  return Done{};
}

}  // namespace genscope::store
