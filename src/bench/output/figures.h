// Figures in words: the one way in which every output of bench writes a value, a change, a speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <genscope/bench.h>

namespace genscope::bench {

// A value of that metric in a unit that fits: "1.50 s", "118 MiB", "42.1 J", "45.2 %".
std::string figure(std::string_view metric, double value);
// The same with its sign: "+70.0 ms"; of nothing "0".
std::string signed_figure(std::string_view metric, double value);
// "1.48 s to 1.53 s"; "-" if there is none.
std::string interval_words(std::string_view metric, const std::optional<stats::Interval>& interval);

// "12.4", "0.43": one decimal, two below 1.
std::string percent_text(double percent);
// Of a share: "45.2 %".
std::string share_text(double ratio);
// after / before as a signed change: "-12.4 %", "+0.43 %", "+0.0 %"; from a factor of 2 on "2.31 x"
// or, where it fell, "1/30.1"; "-" of what is no number.
std::string change_text(double ratio);
// "-14.6 to -10.1 %".
std::string interval_text(const stats::Interval& ratio);
// Of the ratio, else of the difference; "-" if neither is known.
std::string change_words(const Comparison& comparison);
std::string interval_words(const Comparison& comparison);

// A ratio of times: "12.4 % faster" is 12.4 % less time; "30.1 x as fast"; "5.2 % slower";
// "3.2 x as slow".
std::string speed_text(double ratio);
// The same with its interval: "12.4 % faster (95 %: 10.1 to 14.6)".
std::string speed_text(double ratio, const stats::Interval& interval, double confidence);

}  // namespace genscope::bench
