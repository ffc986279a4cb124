// The command line of tinydiff.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor.h"

namespace tinydiff {

struct Options {
  std::string arch = "mmdit";  // or "unet"
  Index width = 160;           // pixels, a multiple of 8
  Index height = 160;          // pixels, a multiple of 8
  int steps = 12;              // denoising steps
  Index batch = 1;             // pictures, or videos, generated together
  Index frames = 1;            // above 1: a video
  std::uint64_t seed = 0;      // of the initial noise; the weights are always the same
  int threads = 1;             // the result does not depend on it
  double guidance = 3.0;       // classifier-free guidance; above 1 each step runs the network twice
  std::string prompt = "a lighthouse above a stormy sea, oil on canvas";
  std::string out = "tinydiff.png";  // a file, or a folder that exists or ends in '/'
  bool write_images = true;
  int requests = 0;   // above 0: so many generations, one after another, each a request
  int ranks = 1;      // processes that do the same and meet after each step
  int epochs = 0;     // above 0: train instead of generating
  std::string fault;  // see faults.h

  // What only a fault sets.
  bool distilled = false, benchmark = false, preview = false, encode_in_training = false;
  int experts = 1;
  int padded_tokens = 0;      // 0: as the text encoder pads
  double target_seconds = 0;  // of a generation; 0: none
  Index second_size = 0;      // of a second picture; 0: none

  bool guided() const { return guidance > 1.0; }
};

// Exactly one of the three is set: options to run with, `help`, or an error that names the option
// and the remedy.
struct ParsedOptions {
  std::optional<Options> options;
  bool help = false;
  std::string error;
};

ParsedOptions parse_options(int argc, const char* const* argv);

std::string help_text();

// Where the picture of a sequence and frame goes: `out` with "-2" and "-f007" before the suffix as
// far as the batch and the frames need them.
std::string image_path(const Options& options, Index sequence, Index frame);

}  // namespace tinydiff
