// What was measured of the settings that rules propose: `bench ab --verifies RULE` keeps its result
// under a suite of its own, and `genscope advise --apply` asks for the newest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <genscope/advise.h>
#include <genscope/bench.h>

namespace genscope::bench {

// "verify:ATT-SLICE"
std::string verify_suite(std::string_view rule);

// The newest result for each of these rules on machines of this class; rules without one are left
// out. Never fails: without an index, or with files that cannot be read, there is no evidence.
std::vector<SettingEvidence> verified_settings(const std::vector<std::string>& rules,
                                               std::string_view environment_class);

}  // namespace genscope::bench
