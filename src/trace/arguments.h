// The arguments of spans and events as values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <genscope/trace.h>

namespace genscope::trace {

using ArgValue = std::variant<double, bool, std::string>;

// The value of entry `i` of a trace's arguments; nothing if its text is not there.
std::optional<ArgValue> argument_at(const Trace& trace, const ArgColumns& args, std::size_t i);

// The argument of a span (trace.span_args) or an event (trace.event_args) by its key; nothing if it
// has none of that name. Logarithmic in the arguments of the trace.
std::optional<ArgValue> argument(const Trace& trace, const ArgColumns& args, std::size_t owner,
                                 std::string_view key);
// The same where it is a number, or a text.
std::optional<double> number_argument(const Trace& trace, const ArgColumns& args, std::size_t owner,
                                      std::string_view key);
std::optional<std::string> text_argument(const Trace& trace, const ArgColumns& args,
                                         std::size_t owner, std::string_view key);

}  // namespace genscope::trace
