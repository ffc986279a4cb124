// How whole a recording is, in sentences.
#pragma once

#include <string>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope::report {

// "nothing was dropped", or how much, in all and per thread. Printable.
std::vector<std::string> loss_sentences(const Analysis& analysis);

// A sentence for each thing that is not whole: still running, killed, recovered, damaged,
// unfinished, unreadable files. Empty when all is well. Printable.
std::vector<std::string> integrity_sentences(const Run& run);

// What was hooked, in one sentence, and one for each hook that failed. Empty where nothing says.
struct InstrumentSentences {
  std::string hooked;
  std::vector<std::string> failed;
};
InstrumentSentences instrument_sentences(const Analysis& analysis);

// "steps differs between calls: 20 (1 request), 30 (2 requests)": one for each setting of which no
// value holds for the whole run; the first few, then how many more. Printable.
std::vector<std::string> mixed_setting_sentences(const Analysis& analysis);

}  // namespace genscope::report
