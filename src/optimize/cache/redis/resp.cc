#include "optimize/cache/redis/resp.h"

#include <fmt/format.h>

#include <charconv>

namespace genscope::optimize::cache {
namespace {

class RespParser {
 public:
  RespParser(std::string_view bytes, const RespLimits& limits) : bytes_(bytes), limits_(limits) {}

  RespState read(RespReply& reply, int depth) {
    std::string_view line;
    if (const RespState state = read_line(line); state != RespState::ready) return state;
    if (line.empty()) return RespState::broken;
    const char tag = line[0];
    line.remove_prefix(1);
    switch (tag) {
      case '+':
      case '-':
        reply.kind = tag == '+' ? RespReply::Kind::simple : RespReply::Kind::error;
        reply.text = line;
        return RespState::ready;
      case ':':
        reply.kind = RespReply::Kind::integer;
        return number(line, reply.integer) ? RespState::ready : RespState::broken;
      case '$':
        return read_bulk(line, reply);
      case '*':
        return read_array(line, reply, depth);
      case '_':
        reply.kind = RespReply::Kind::null;
        return line.empty() ? RespState::ready : RespState::broken;
      default:
        return RespState::broken;
    }
  }
  std::size_t used() const noexcept { return at_; }

 private:
  static bool number(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  }
  // Up to "\r\n", which is taken, too.
  RespState read_line(std::string_view& line) {
    const std::string_view rest = bytes_.substr(at_, limits_.line_bytes + 2);
    const std::size_t end = rest.find("\r\n");
    if (end == std::string_view::npos) {
      return rest.size() < limits_.line_bytes + 2 ? RespState::more : RespState::broken;
    }
    line = rest.substr(0, end);
    at_ += end + 2;
    return RespState::ready;
  }
  RespState read_bulk(std::string_view length, RespReply& reply) {
    std::int64_t size = 0;
    if (!number(length, size) || size < -1) return RespState::broken;
    if (size == -1) {
      reply.kind = RespReply::Kind::null;
      return RespState::ready;
    }
    const auto bytes = static_cast<std::size_t>(size);
    if (bytes > limits_.bulk_bytes) return RespState::broken;
    if (bytes_.size() - at_ < bytes + 2) return RespState::more;
    if (bytes_.substr(at_ + bytes, 2) != "\r\n") return RespState::broken;
    reply.kind = RespReply::Kind::bulk;
    reply.text = bytes_.substr(at_, bytes);
    at_ += bytes + 2;
    return RespState::ready;
  }
  RespState read_array(std::string_view length, RespReply& reply, int depth) {
    std::int64_t count = 0;
    if (!number(length, count) || count < -1 || depth == 0) return RespState::broken;
    reply.kind = count == -1 ? RespReply::Kind::null : RespReply::Kind::array;
    for (std::int64_t item = 0; item < count; ++item) {
      if (++items_ > limits_.items) return RespState::broken;
      reply.items.emplace_back();
      if (const RespState state = read(reply.items.back(), depth - 1); state != RespState::ready) {
        return state;
      }
    }
    return RespState::ready;
  }

  std::string_view bytes_;
  const RespLimits& limits_;
  std::size_t at_ = 0, items_ = 0;
};

}  // namespace

RespState read_reply(std::string_view bytes, const RespLimits& limits, RespReply& reply,
                     std::size_t& used) {
  reply = RespReply();
  RespParser parser(bytes, limits);
  const RespState state = parser.read(reply, limits.depth);
  if (state == RespState::ready) used = parser.used();
  return state;
}

void append_command(std::string& out, std::initializer_list<std::string_view> parts) {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", parts.size());
  for (const std::string_view part : parts) {
    fmt::format_to(std::back_inserter(out), "${}\r\n", part.size());
    out.append(part).append("\r\n");
  }
}

}  // namespace genscope::optimize::cache
