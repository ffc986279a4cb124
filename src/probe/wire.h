// What a child process that serves probes says to its parent: messages over a pipe.
//
// Both sides are the same binary, so numbers travel in the machine's own form. The reader still
// trusts nothing: the other side runs a vendor's code and may be dying.
//
//   message   u32 bytes of the body (at most kMaxBody) | u8 type | body
//   text      u16 bytes | bytes
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/probe.h"

namespace genscope::probe {

inline constexpr std::size_t kMaxBody = 64 * 1024;

// Collects messages; the owner writes out() to the pipe and clears it.
class WireWriter final : public SampleSink {
 public:
  WireWriter() { out_.reserve(256 * 1024); }
  void add_entity(std::uint32_t entity, const Entity& what) noexcept override;
  void add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                  std::string_view source) noexcept override;
  void add_reading(std::uint32_t series, const Reading& reading) noexcept override;
  void add_event(std::uint32_t entity, std::string_view name,
                 std::string_view detail) noexcept override;
  void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept override;
  // What became of the probe called `probe`.
  void add_state(std::string_view probe, const ProbeState& state) noexcept;

  std::string& out() noexcept { return out_; }

 private:
  std::string out_;
};

// Takes bytes as they come and turns whole messages into calls.
class WireReader {
 public:
  struct Handler {
    virtual ~Handler() = default;
    virtual void on_entity(std::uint32_t entity, Entity what) = 0;
    virtual void on_series(std::uint32_t series, std::uint32_t entity, std::string_view metric,
                           std::string_view source) = 0;
    virtual void on_reading(std::uint32_t series, SampleStatus status, double value,
                            std::string_view reason) = 0;
    virtual void on_event(std::uint32_t entity, std::string_view name, std::string_view detail) = 0;
    virtual void on_processes(std::uint32_t entity, std::span<const ProcessRow> rows) = 0;
    virtual void on_state(std::string_view probe, ProbeState state) = 0;
  };
  // False if the bytes make no sense: there is no way to go on with this stream.
  bool feed(std::string_view bytes, Handler& handler);

 private:
  std::string pending_;
  std::vector<ProcessRow> rows_;
};

}  // namespace genscope::probe
