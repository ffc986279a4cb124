// What a model's files or its name tell: which network it is, and of which family.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genscope::monitor {

struct ModelIdentity {
  std::string title;         // "Qwen-Image"; empty: not known
  std::string architecture;  // "qwen_image"
  std::string family;        // "mmdit", "unet", as inspect.h names them
};

// From the headers of a file or folder; all empty if it cannot be read or is not known.
ModelIdentity identify_files(const std::string& path);
// From the table of known models, by name or alias; all empty if it has none such.
ModelIdentity identify_name(std::string_view model_name);
// The family of an architecture: "qwen_image" is an mmdit. Empty if not known.
std::string_view family_of(std::string_view architecture);

// Forward passes a step of a known model's pipeline, unless the program says otherwise.
std::optional<double> default_passes(std::string_view model_name);

// As generation monitors write a family: "MMDiT", "UNet", "DiT"; others as they are.
std::string family_title(std::string_view family);
// And back: small letters.
std::string family_key(std::string_view title);

// Whether the name says that the model edits pictures ("Qwen-Image-Edit").
bool edits(std::string_view model_name) noexcept;

}  // namespace genscope::monitor
