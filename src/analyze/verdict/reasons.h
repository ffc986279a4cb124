// Verdicts in sentences, and their names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analyze/verdict/verdict.h"

namespace genscope::analysis {

std::string interval_reason(const Judgement& judgement);
std::string insufficient_reason(const Judgement& judgement);
std::string incomparable_reason(std::span<const std::string> why);
std::string clock_reason(const Judgement& time, const Judgement& cycles);
// `moved`: what the time alone says.
std::string machine_reason(const Judgement& time, const Judgement& own, Verdict moved);
// `time` is open, `own` is not.
std::string own_time_reason(const Judgement& time, const Judgement& own);
// Of a gate that so few runs could not have moved; `needed` could.
std::string hopeless_note(const Judgement& gate, std::size_t gates, std::size_t needed);
std::string gate_reason(const Judgement& gate, std::size_t gates, double alpha);
std::string_view drift_note() noexcept;
std::string_view unequal_pairs_note() noexcept;

}  // namespace genscope::analysis
