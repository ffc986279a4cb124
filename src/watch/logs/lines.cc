#include "watch/logs/lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace genscope::watch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// All of `text` as a number.
std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fine = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return fine ? std::optional(value) : std::nullopt;
}

// The number that `text` begins with, and what follows it.
std::optional<double> number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

// What follows `word`, if the line has it.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + word.size());
}

// "12/20"
bool split_count(std::string_view text, std::string_view& at, std::string_view& total) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
  at = text.substr(0, slash);
  total = text.substr(slash + 1);
  return is_digit(at.front()) && (is_digit(total.front()) || total == "?");
}

// " 60%|" and where it begins; npos: none.
std::size_t find_percent(std::string_view line) {
  const std::size_t mark = line.find("%|");
  if (mark == std::string_view::npos || mark == 0) return std::string_view::npos;
  std::size_t begin = mark;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  return begin < mark ? begin : std::string_view::npos;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string dtype_of(std::string_view torch_name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"float32", "fp32"},
                                                                      {"float16", "fp16"},
                                                                      {"bfloat16", "bf16"},
                                                                      {"float8_e4m3fn", "fp8_e4m3"},
                                                                      {"float8_e5m2", "fp8_e5m2"}};
  std::string_view name = trimmed(torch_name, " ,");
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const auto& [torch, ours] : kNames) {
    if (name == torch) return std::string(ours);
  }
  return std::string(name.substr(0, 32));
}

}  // namespace

std::optional<TqdmBar> parse_tqdm(std::string_view line) {
  constexpr std::size_t kLongest = 1024;  // a bar is as wide as a terminal
  if (line.size() > kLongest) return std::nullopt;
  // " 12/20 [00:05<00:03": the last one, a label may have brackets, too.
  for (std::size_t open = line.rfind(" ["); open != std::string_view::npos && open > 0;
       open = line.rfind(" [", open - 1)) {
    const std::string_view times = line.substr(open + 2);
    const std::size_t less = times.substr(0, 13).find('<');
    const bool clock = less != std::string_view::npos && less >= 4 && less <= 12 &&
                       is_digit(times[0]) && times.substr(0, less).find(':') != times.npos;
    if (!clock) continue;
    const std::size_t begin = line.find_last_of(" |", open - 1);
    const std::size_t from = begin == std::string_view::npos ? 0 : begin + 1;
    const std::string_view count = line.substr(from, open - from);
    std::string_view at, total;
    if (!split_count(count, at, total)) continue;
    TqdmBar bar;
    bar.count = count.substr(0, 64);
    bar.at = whole(at);
    bar.total = whole(total);
    if (bar.at && bar.total && *bar.at > *bar.total) bar.total.reset();
    const std::size_t percent = find_percent(line);
    const std::string_view label =
        line.substr(0, percent != std::string_view::npos ? percent : from);
    bar.label = trimmed(label, " :\t").substr(0, 128);
    return bar;
  }
  return std::nullopt;
}

std::optional<ComfyLine> parse_comfyui(std::string_view line) {
  using Kind = ComfyLine::Kind;
  ComfyLine found;
  if (line.ends_with("got prompt")) return found;
  if (const auto rest = after(line, "Prompt executed in ")) {
    found.kind = Kind::executed;
    std::string_view unit;
    const auto seconds = number(*rest, unit);
    if (seconds && unit.starts_with(" seconds")) found.seconds = seconds;
    return found;
  }
  if (const auto rest = after(line, "Requested to load ")) {
    found.kind = Kind::load_begin;
    found.name = rest->substr(0, 128);
    return found.name.empty() ? std::nullopt : std::optional(found);
  }
  if (has(line, "loaded completely") || line.starts_with("loaded partially")) {
    found.kind = Kind::load_end;
    found.partial = has(line, "loaded partially");
    return found;
  }
  if (const auto rest = after(line, "model weight dtype ")) {
    found.kind = Kind::dtype;
    const std::size_t comma = rest->find(',');
    found.name = dtype_of(rest->substr(0, comma));
    const auto cast = after(*rest, "manual cast: ");
    if (cast && !cast->starts_with("None")) found.cast = dtype_of(*cast);
    return found.name.empty() ? std::nullopt : std::optional(found);
  }
  if (const auto rest = after(line, "Using "); rest && !rest->ends_with(" in VAE")) {
    constexpr std::pair<std::string_view, std::string_view> kBackends[] = {
        {"pytorch attention", "sdpa"},
        {"sage attention", "sage"},
        {"xformers attention", "xformers"},
        {"Flash Attention", "flash"},
        {"split optimization for attention", "split"},
        {"sub quadratic optimization for attention", "sub_quadratic"}};
    for (const auto& [words, backend] : kBackends) {
      if (!rest->starts_with(words)) continue;
      found.kind = Kind::attention;
      found.name = backend;
      return found;
    }
  }
  if (line.starts_with("!!! Exception during processing !!!")) {
    found.kind = Kind::failed;
    return found;
  }
  return std::nullopt;
}

namespace {

// "|=====>   | 3/20 - 1.20s/it"; bytes that are loaded end in MB/s and are none.
std::optional<SdLine> parse_sd_bar(std::string_view line) {
  const bool steps = line.starts_with('|') && (line.ends_with("s/it") || line.ends_with("it/s"));
  const std::size_t bar = line.rfind("| ");
  const std::size_t dash = line.rfind(" - ");
  if (!steps || bar == 0 || bar == line.npos || dash == line.npos || dash < bar + 2) {
    return std::nullopt;
  }
  std::string_view at, total;
  if (!split_count(line.substr(bar + 2, dash - bar - 2), at, total)) return std::nullopt;
  constexpr std::int64_t kMostSteps = 1'000'000'000;
  const auto from = whole(at), of = whole(total);
  if (!from || !of || *from > *of || *of > kMostSteps) return std::nullopt;
  SdLine found;
  found.kind = SdLine::Kind::step;
  found.at = *from;
  found.total = *of;
  return found;
}

// "..., taking 1.20s", "..., taking 320 ms", "... completed in 26.0s"
std::optional<double> taken(std::string_view text) {
  auto rest = after(text, "taking ");
  if (!rest) rest = after(text, "completed in ");
  std::string_view unit;
  const auto value = rest ? number(*rest, unit) : std::nullopt;
  if (!value) return std::nullopt;
  if (unit.starts_with("s")) return value;
  if (unit.starts_with(" ms") || unit.starts_with("ms")) return *value / 1000;
  return std::nullopt;
}

// "512x768" or, of a video, "512x768x33"
void read_size(std::string_view text, SdLine& line) {
  std::int64_t* const into[] = {&line.width, &line.height, &line.frames};
  std::int64_t found[3] = {};
  std::size_t count = 0;
  while (count < 3) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    const auto side = whole(text.substr(0, end));
    if (!side) break;
    found[count++] = *side;
    if (end == text.size() || text[end] != 'x') break;
    text.remove_prefix(end + 1);
  }
  if (count < 2) return;
  for (std::size_t i = 0; i < count; ++i) *into[i] = found[i];
}

// How a message begins, what it must hold besides, and what it means. The first that fits counts.
struct SdMessage {
  std::string_view begin, holds;
  SdLine::Kind kind;
};
constexpr SdMessage kSdMessages[] = {
    {"loading tensors completed", "", SdLine::Kind::loaded},
    {"get_learned_condition completed", "", SdLine::Kind::conditioned},
    {"encode_first_stage completed", "", SdLine::Kind::vae_encoded},
    {"sampling", " using ", SdLine::Kind::method},
    {"sampling", " completed", SdLine::Kind::sampled},
    {"hires sampling ", " completed", SdLine::Kind::sampled},
    {"generating image: ", "", SdLine::Kind::image},
    {"generating ", " latent images completed", SdLine::Kind::latents},
    {"generating latent video completed", "", SdLine::Kind::latents},
    {"hires fix: upscaling to", "", SdLine::Kind::upscaling},
    {"hires fix: scheduler_steps", "", SdLine::Kind::refining},
    {"hires fix completed", "", SdLine::Kind::latents},
    {"LTX latent spatial upscale: ", "", SdLine::Kind::upscaling},
    {"LTX latent spatial upscale refine: ", "", SdLine::Kind::refining},
    {"decoding ", " latents", SdLine::Kind::decoding},
    {"decode_first_stage completed", "", SdLine::Kind::decoded},
};

}  // namespace

std::optional<SdLine> parse_sdcpp(std::string_view line) {
  using Kind = SdLine::Kind;
  if (line.starts_with('|')) return parse_sd_bar(line);
  // "[INFO ] stable-diffusion.cpp:713  - loading model from ..."
  const bool error = line.starts_with("[ERROR");
  const bool logged = error || line.starts_with("[INFO") || line.starts_with("[DEBUG");
  const auto message = logged ? after(line, " - ") : std::nullopt;
  if (!message) return std::nullopt;
  const std::string_view text = trimmed(*message, " ");
  SdLine found;
  found.seconds = taken(text);
  const auto as = [&](Kind kind) {
    found.kind = kind;
    return std::optional(found);
  };
  if (error) {
    return text.starts_with("sampling") && has(text, " failed") ? as(Kind::failed) : std::nullopt;
  }
  if (text.starts_with("loading ") && has(text, " from '") && !has(text, "LoRA")) {
    return as(Kind::loading);
  }
  for (const std::string_view what : {"generate_image", "generate_video", "txt2img", "img2img"}) {
    if (!text.starts_with(what)) continue;
    if (text.substr(what.size()).starts_with(" completed in")) return as(Kind::done);
    found.name = what;
    read_size(trimmed(text.substr(what.size()), " "), found);
    return as(Kind::generate);
  }
  for (const SdMessage& known : kSdMessages) {
    if (!text.starts_with(known.begin) || !has(text, known.holds)) continue;
    const bool high = text.starts_with("sampling(high noise)");
    if (known.kind == Kind::method) {
      if (high) return std::nullopt;  // the other model's is the one that is told
      const std::string_view method = after(text, " using ").value_or("");
      found.name = method.substr(0, std::min<std::size_t>(method.find(" method"), 64));
    } else if (known.kind == Kind::sampled && high) {
      found.name = "high noise";
    } else if (known.kind == Kind::image) {
      const std::string_view count = text.substr(known.begin.size());
      std::string_view at, total;
      if (split_count(count.substr(0, count.find(' ')), at, total)) {
        found.at = whole(at).value_or(0);
        found.total = whole(total).value_or(0);
      }
    }
    return as(known.kind);
  }
  return std::nullopt;
}

}  // namespace genscope::watch
