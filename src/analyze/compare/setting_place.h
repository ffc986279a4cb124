// Where a key that a run says of itself belongs, and what it means if two runs differ in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace genscope::analysis {

enum class Place : std::uint8_t { environment, workload, other };

struct SettingPlace {
  std::string key;  // under which it is compared and shown: "steps" for "set.num_inference_steps"
  Place place = Place::other;
  bool decisive = false;  // as Difference::decisive
};

// By the table in setting_place.cc (docs/compare.md has it too). Beyond the table, "env." is
// environment, "set.", "model." and "lora." are workload that people change on purpose, and
// anything else is told and means nothing.
SettingPlace place_of(std::string_view key);

}  // namespace genscope::analysis
