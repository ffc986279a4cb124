#include "bench/result/environment_json.h"

#include <fmt/format.h>

#include <charconv>

namespace genscope::bench {

template <class Io, Of<EnvironmentCheck> S>
void fields(Io& io, S& s) {
  io.always("name", s.name);
  io.always("status", s.status);
  io("value", s.value);
  io("limit", s.limit);
}

namespace {

using Fingerprint = std::map<std::string, std::string>;

constexpr std::string_view kGpus = "gpus.";

// The text of a count, where a count belongs: written as a number, read back the same.
std::optional<std::uint64_t> as_count(std::string_view key, std::string_view value) {
  if (key != "cores" && key != "threads" && !key.ends_with("_bytes")) return std::nullopt;
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  if (fmt::to_string(n) != value) return std::nullopt;
  return n;
}

void write_fact(FieldWriting& io, std::string_view key, const std::string& value) {
  if (const auto n = as_count(key, value)) {
    io.always(key, *n);
  } else {
    io.always(key, value);
  }
}

struct GpuKey {
  std::size_t index = 0;
  std::string_view field;
};
// "gpus.0.name"; nothing for other keys.
std::optional<GpuKey> gpu_key(std::string_view key) {
  if (!key.starts_with(kGpus)) return std::nullopt;
  GpuKey out;
  const auto [end, error] =
      std::from_chars(key.data() + kGpus.size(), key.data() + key.size(), out.index);
  if (error != std::errc() || end == key.data() + key.size() || *end != '.') return std::nullopt;
  out.field = key.substr(static_cast<std::size_t>(end - key.data()) + 1);
  return out;
}

void write_fingerprint(FieldWriting& io, const Fingerprint& all) {
  std::map<std::size_t, Fingerprint> gpus;
  io.out().begin('{');
  for (const auto& [key, value] : all) {
    if (const auto gpu = gpu_key(key)) {
      gpus[gpu->index][std::string(gpu->field)] = value;
    } else {
      write_fact(io, key, value);
    }
  }
  if (!gpus.empty()) {
    io.out().key("gpus");
    io.out().begin('[');
    for (const auto& [index, facts] : gpus) {
      io.out().begin('{');
      for (const auto& [key, value] : facts) write_fact(io, key, value);
      io.out().end('}');
    }
    io.out().end(']');
  }
  io.out().end('}');
}

void read_fact(JsonReader& in, std::string& out) {
  if (in.is_text()) return in.read(out);
  std::uint64_t n = 0;
  in.read(n);
  out = fmt::to_string(n);
}

void read_fingerprint(JsonReader& in, Fingerprint& all) {
  in.members([&](std::string_view key) {
    if (key != "gpus") return read_fact(in, all[std::string(key)]);
    std::size_t index = 0;
    in.elements([&] {
      in.members([&](std::string_view field) {
        read_fact(in, all[fmt::format("{}{}.{}", kGpus, index, field)]);
      });
      ++index;
    });
  });
}

void fingerprint(FieldWriting& io, const Fingerprint& all) {
  io.custom("fingerprint", !all.empty(), [&](FieldWriting& w) { write_fingerprint(w, all); });
}
void fingerprint(FieldReading& io, Fingerprint& all) {
  io.custom("fingerprint", true, [&](FieldReading& r) { read_fingerprint(r.in(), all); });
}

template <class Io, Of<Environment> S>
void environment_fields(Io& io, S& s) {
  io("class", s.klass);
  fingerprint(io, s.fingerprint);
  io("checks", s.checks);
}

}  // namespace

void fields(FieldWriting& io, const Environment& environment) {
  environment_fields(io, environment);
}
void fields(FieldReading& io, Environment& environment) { environment_fields(io, environment); }

}  // namespace genscope::bench
