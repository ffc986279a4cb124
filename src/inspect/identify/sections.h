// Sections: the networks that one file holds. An all-in-one checkpoint has one for the denoiser,
// the autoencoder and each text encoder, told by the beginnings of names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/inspect.h>

namespace genscope::inspect {

struct Section {
  std::string name;    // for people: "diffusion_model", "vae"; "" if it is the whole file
  std::string prefix;  // of its tensors' names
  std::vector<std::uint32_t> members;
};

// In the order in which they appear in the file. What belongs to none is a section called "rest".
std::vector<Section> sections(const TensorFile& file);

}  // namespace genscope::inspect
