#include "inspect/cost/profile.h"

#include <cmath>
#include <utility>

#include "inspect/cost/profile_parts.h"

namespace genscope::inspect {

std::string plain_name(std::string_view name) {
  const std::size_t slash = name.find_last_of('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  return plain;
}

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = [] {
    std::vector<Profile> rows = image_profiles();
    for (Profile& row : video_profiles()) rows.push_back(std::move(row));
    return rows;
  }();
  return all;
}

const Profile* find_profile(std::string_view name) {
  const std::string plain = plain_name(name);
  if (plain.empty()) return nullptr;
  for (const Profile& profile : profiles()) {
    if (plain == plain_name(profile.name) || plain == plain_name(profile.title)) return &profile;
  }
  for (const Profile& profile : profiles()) {
    if (profile.aliases.find(" " + plain + " ") != std::string_view::npos) return &profile;
  }
  return nullptr;
}

const Profile* nearest_profile(std::string_view architecture, std::uint64_t parameters,
                               std::optional<bool> guided) noexcept {
  const Profile* best = nullptr;
  // Steps and passes hang on guidance more than on a few parameters.
  const auto alike = [&](const Profile& p) {
    return !guided || p.dimensions.guidance_embedding == *guided;
  };
  double best_distance = 0;
  for (const Profile& profile : profiles()) {
    if (profile.architecture != architecture) continue;
    const double ratio = static_cast<double>(parameters) / static_cast<double>(profile.parameters);
    const double distance = parameters == 0 ? 0 : std::abs(std::log(ratio));
    const bool better = best == nullptr || (alike(profile) && !alike(*best)) ||
                        (alike(profile) == alike(*best) && distance < best_distance);
    if (!better) continue;
    best = &profile;
    best_distance = distance;
  }
  return best;
}

}  // namespace genscope::inspect
