#include "trace/arguments.h"

#include <algorithm>
#include <bit>

namespace genscope::trace {

std::optional<ArgValue> argument_at(const Trace& trace, const ArgColumns& args, std::size_t i) {
  const std::uint64_t bits = args.bits[i];
  switch (args.type[i]) {
    case ArgType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ArgType::uint64:
      return static_cast<double>(bits);
    case ArgType::float64:
      return std::bit_cast<double>(bits);
    case ArgType::boolean:
      return bits != 0;
    case ArgType::text:
      if (bits < trace.texts.size()) return trace.texts[bits];
  }
  return std::nullopt;
}

std::optional<ArgValue> argument(const Trace& trace, const ArgColumns& args, std::size_t owner,
                                 std::string_view key) {
  const auto [first, last] = std::equal_range(args.owner.begin(), args.owner.end(), owner);
  for (auto it = first; it != last; ++it) {
    const auto i = static_cast<std::size_t>(it - args.owner.begin());
    if (trace.names[args.key[i]].text == key) return argument_at(trace, args, i);
  }
  return std::nullopt;
}

std::optional<double> number_argument(const Trace& trace, const ArgColumns& args, std::size_t owner,
                                      std::string_view key) {
  const std::optional<ArgValue> value = argument(trace, args, owner, key);
  if (!value || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

std::optional<std::string> text_argument(const Trace& trace, const ArgColumns& args,
                                         std::size_t owner, std::string_view key) {
  std::optional<ArgValue> value = argument(trace, args, owner, key);
  if (!value || !std::holds_alternative<std::string>(*value)) return std::nullopt;
  return std::get<std::string>(*std::move(value));
}

}  // namespace genscope::trace
