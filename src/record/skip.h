// Spans that a session was asked to leave out (SessionOptions::skip).
//
// The inline path knows nothing of this: a name that is left out gets no number, so its Site stays
// on the slow path, and there it is asked for here, once the table has been found not to have it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "genscope/internal/word.h"

namespace genscope::record {

// From now on; words as in SessionOptions::skip. Not called by two threads at once.
void set_skipped(const std::vector<std::string>& words);
// "a,b" as words.
std::vector<std::string> split_words(std::string_view text);

bool skipped(SpanKind kind, std::string_view name) noexcept;

}  // namespace genscope::record
