#include "options.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "faults.h"

namespace tinydiff {
namespace {

constexpr Index kMaxSize = 2048;
constexpr int kMaxSteps = 1000;  // the training steps of the DDIM schedule
constexpr Index kMaxBatch = 64;
constexpr Index kMaxFrames = 1000;
constexpr int kMaxThreads = 256;
constexpr int kMaxRequests = 1000;
constexpr int kMaxRanks = 64;
constexpr int kMaxEpochs = 1000;
constexpr double kMaxGuidance = 30.0;

template <typename Number>
bool parse_number(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && !text.empty();
}

std::string complaint(std::string_view option, std::string_view value, std::string_view remedy) {
  return std::string(option) + ": '" + std::string(value) + "' is not valid; " +
         std::string(remedy);
}

template <typename Number>
std::string set_integer(std::string_view option, std::string_view text, Number low, Number high,
                        Number& target) {
  Number value{};
  if (!parse_number(text, value) || value < low || value > high) {
    return complaint(
        option, text,
        "give a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  target = value;
  return {};
}

bool is_valid_size(Index size) { return size >= 8 && size <= kMaxSize && size % 8 == 0; }

std::string set_size(std::string_view text, Options& options) {
  const std::size_t cross = text.find('x');
  const std::string_view first = text.substr(0, cross);
  const std::string_view second = cross == std::string_view::npos ? first : text.substr(cross + 1);
  Index width = 0;
  Index height = 0;
  if (!parse_number(first, width) || !parse_number(second, height) || !is_valid_size(width) ||
      !is_valid_size(height)) {
    return complaint("--size", text,
                     "give N or WxH in pixels, multiples of 8 from 8 to " +
                         std::to_string(kMaxSize) + ", for example 128 or 192x128");
  }
  options.width = width;
  options.height = height;
  return {};
}

std::string set_guidance(std::string_view text, Options& options) {
  double value = 0.0;
  if (!parse_number(text, value) || !std::isfinite(value) || value < 0.0 || value > kMaxGuidance) {
    return complaint("--guidance", text, "give a number from 0 to 30; up to 1 means no guidance");
  }
  options.guidance = value;
  return {};
}

std::string set_arch(std::string_view text, Options& options) {
  if (text != "mmdit" && text != "unet") {
    return complaint("--arch", text, "choose mmdit or unet");
  }
  options.arch = text;
  return {};
}

std::string set_fault(std::string_view text, Options& options) {
  if (text != "list" && find_fault(text) == nullptr) {
    return complaint("--fault", text, "see tinydiff --fault list");
  }
  options.fault = text;
  return {};
}

// Sets one option that takes a value. Returns an error, or an empty string.
std::string set_option(std::string_view name, std::string_view value, Options& options) {
  if (name == "--arch") return set_arch(value, options);
  if (name == "--size") return set_size(value, options);
  if (name == "--steps") return set_integer(name, value, 1, kMaxSteps, options.steps);
  if (name == "--batch") return set_integer(name, value, Index{1}, kMaxBatch, options.batch);
  if (name == "--frames") return set_integer(name, value, Index{1}, kMaxFrames, options.frames);
  if (name == "--seed") {
    return set_integer(name, value, std::uint64_t{0}, UINT64_MAX, options.seed);
  }
  if (name == "--threads") return set_integer(name, value, 1, kMaxThreads, options.threads);
  if (name == "--requests") return set_integer(name, value, 1, kMaxRequests, options.requests);
  if (name == "--ranks") return set_integer(name, value, 1, kMaxRanks, options.ranks);
  if (name == "--train") return set_integer(name, value, 1, kMaxEpochs, options.epochs);
  if (name == "--fault") return set_fault(value, options);
  if (name == "--guidance") return set_guidance(value, options);
  if (name == "--prompt") {
    options.prompt = value;
    return {};
  }
  if (value.empty()) return complaint("--out", value, "give a file or a folder");
  options.out = value;
  return {};
}

bool takes_value(std::string_view name) {
  for (const std::string_view known :
       {"--arch", "--size", "--steps", "--batch", "--frames", "--seed", "--threads", "--guidance",
        "--prompt", "--out", "--requests", "--ranks", "--train", "--fault"}) {
    if (name == known) return true;
  }
  return false;
}

// A folder becomes a file in it. Fails before the work starts, not after it, if the folder is not
// there.
std::string resolve_out(Options& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = options.out;
  if (options.out.back() == '/') fs::create_directories(path, error);
  if (error) return complaint("--out", options.out, "cannot create the folder: " + error.message());
  if (fs::is_directory(path, error)) path /= "tinydiff.png";
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  if (!fs::is_directory(folder, error)) {
    return complaint("--out", options.out,
                     "there is no folder '" + folder.string() + "'; create it or choose another");
  }
  options.out = path.string();
  return {};
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  const auto failed = [](std::string error) { return ParsedOptions{{}, false, std::move(error)}; };
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") return {{}, true, {}};
    if (argument == "--no-image") {
      options.write_images = false;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (!takes_value(name)) {
      return failed(std::string(argument) + ": no such option; see tinydiff --help");
    }
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      return failed(std::string(name) + ": a value is missing; see tinydiff --help");
    }
    if (std::string error = set_option(name, value, options); !error.empty()) return failed(error);
  }
  if (options.fault == "list") return {std::move(options), false, {}};
  apply_fault(options);
  if (options.write_images) {
    if (std::string error = resolve_out(options); !error.empty()) return failed(error);
  }
  return {std::move(options), false, {}};
}

std::string help_text() {
  return R"(usage: tinydiff [options]

A small text-to-image diffusion pipeline with random weights: honest work to profile, no model to
download. The same options give the same picture, whatever the number of threads.

  --arch mmdit|unet   denoising network (mmdit)
  --size N|WxH        picture size in pixels, multiples of 8 (160)
  --steps N           denoising steps (12)
  --batch N           pictures or videos generated together (1)
  --frames N          above 1: a video, generated in causal blocks of 4 frames (1)
  --guidance S        classifier-free guidance; above 1 runs the network twice per step (3)
  --prompt TEXT       what to paint
  --seed N            seed of the initial noise (0)
  --threads N         threads, the main one included (1)
  --requests N        so many generations, one after another, each marked as a request
  --ranks N           N processes that do the same and meet after each step (1)
  --train EPOCHS      fit the gain of the network's output instead of generating
  --fault NAME|list   spoil the run in one way, for genscope advise to find; list them
  --out PATH          PNG file, or a folder that exists or ends in '/' (tinydiff.png)
  --no-image          generate, but write nothing
  --help              this text

exit codes: 0 fine; 1 an image could not be written, or a request failed; 2 a bad option
)";
}

std::string image_path(const Options& options, Index sequence, Index frame) {
  const std::filesystem::path path = options.out;
  std::string name = path.stem().string();
  char part[32];
  if (options.batch > 1) {
    std::snprintf(part, sizeof part, "-%d", static_cast<int>(sequence));
    name += part;
  }
  if (options.frames > 1) {
    std::snprintf(part, sizeof part, "-f%03d", static_cast<int>(frame));
    name += part;
  }
  return (path.parent_path() / (name + path.extension().string())).string();
}

}  // namespace tinydiff
