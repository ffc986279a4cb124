// Facts written as text, for *_test.cc only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include <genscope/advise.h>

#include "advise/fact_names.h"

namespace genscope::testing {

// Sets "name=value" pairs parted by spaces, each of the type that the table gives its name. An
// unknown name or a value of another type fails the test.
inline void set_facts(Facts& facts, std::string_view pairs) {
  while (!pairs.empty()) {
    const std::size_t end = std::min(pairs.find(' '), pairs.size());
    const std::string_view pair = pairs.substr(0, end);
    pairs.remove_prefix(std::min(end + 1, pairs.size()));
    const std::size_t equals = pair.find('=');
    ASSERT_NE(equals, std::string_view::npos) << pair;
    const std::string name(pair.substr(0, equals));
    const std::string_view value = pair.substr(equals + 1);
    const advice::FactName* const row = advice::find_fact(name);
    ASSERT_NE(row, nullptr) << name;
    if (row->type == advice::FactType::text) {
      facts.set(name, std::string(value));
    } else if (row->type == advice::FactType::flag) {
      ASSERT_TRUE(value == "true" || value == "false") << pair;
      facts.set(name, value == "true");
    } else {
      double number = 0;
      const auto [stop, failed] =
          std::from_chars(value.data(), value.data() + value.size(), number);
      ASSERT_TRUE(failed == std::errc{} && stop == value.data() + value.size()) << pair;
      facts.set(name, number);
    }
  }
}

inline Facts facts(std::string_view pairs) {
  Facts made;
  set_facts(made, pairs);
  return made;
}

// The number that a fact has; NaN and a failure where it is missing.
inline double number(const Facts& facts, std::string_view name) {
  const FactValue* const value = facts.find(name);
  if (value == nullptr) {
    ADD_FAILURE() << name << " is missing: " << facts.why_missing(name);
    return std::nan("");
  }
  return std::get<double>(*value);
}

inline bool fired(const Advice& advice, std::string_view id) {
  return std::any_of(advice.findings.begin(), advice.findings.end(),
                     [&](const Finding& finding) { return finding.rule.id == id; });
}

}  // namespace genscope::testing
