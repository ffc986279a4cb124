#include "report/page/page.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>

#include "base/text.h"
#include "report/page/outline.h"
#include "trace/metrics.h"

namespace genscope::report {
namespace {

constexpr std::size_t kPartAlignment = 8;
constexpr std::string_view kMagic{"GSPAGE1\0", 8};

std::string container(std::string_view header, const Blobs& blobs) {
  std::string out(kMagic);
  const auto length = static_cast<std::uint32_t>(header.size());
  char bytes[sizeof length];
  std::memcpy(bytes, &length, sizeof length);
  out.append(bytes, sizeof length);
  out += header;
  out.resize((out.size() + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
  return out + blobs.bytes();
}

std::string names_json(const PageNames& names) {
  return fmt::format(R"("names":{},"kinds":{})", names.names_json(), names.kinds_json());
}

std::string limits_json(const PageCuts& cuts) {
  return fmt::format(
      R"("limits":{{"spans":{},"spans_kept":{},"args_cut":{},"events_cut":{},"points_cut":{}}})",
      cuts.spans, cuts.spans_kept, cuts.args, cuts.events, cuts.points);
}

// What the bits of a reading of throttle_reasons are called: [name, bits].
std::string throttle_reasons_json() {
  std::string rows;
  for (const trace::ThrottleReason& reason : trace::kThrottleReasons) {
    rows += fmt::format("{}[\"{}\",{}]", rows.empty() ? "" : ",", reason.name, reason.bits);
  }
  return "[" + rows + "]";
}

}  // namespace

std::uint32_t PageNames::number(const Name& name) {
  const std::string key = std::string(genscope::name(name.kind)) + '/' + name.text;
  const auto [it, added] = numbers_.emplace(key, static_cast<std::uint32_t>(numbers_.size()));
  if (added) {
    const char* const comma = names_.empty() ? "" : ",";
    names_ += comma + base::json_quote(name.text);
    kinds_ += fmt::format("{}\"{}\"", comma, genscope::name(name.kind));
  }
  return it->second;
}

std::string page_container(const Run& run, const Analysis& analysis, std::string_view report,
                           const PageLimits& limits) {
  Blobs blobs;
  PageNames names;
  PageCuts cuts;
  const std::string tracks = tracks_json(run, analysis, limits, names, blobs, cuts);
  const std::string events = events_json(run, analysis, limits, names, blobs, cuts);
  const std::string counters = counters_json(run, analysis, limits, blobs, cuts);
  const std::string header =
      fmt::format(R"({{"schema":"genscope.page/1","mode":"report","report":{},{},)", report,
                  names_json(names)) +
      fmt::format(R"("tracks":{},"events":{},"counters":{},"throttle_reasons":{},{}}})", tracks,
                  events, counters, throttle_reasons_json(), limits_json(cuts));
  return container(header, blobs);
}

std::string compare_container(const PageRun& before, const PageRun& after,
                              const RunOutlines& outlines, std::string_view comparison,
                              const PageLimits& limits) {
  Blobs blobs;
  std::string runs;
  for (const PageRun* side : {&before, &after}) {
    PageNames names;
    PageCuts cuts;
    const std::string tracks = tracks_json(side->run, side->analysis, limits, names, blobs, cuts);
    runs += fmt::format(R"({}{{{},"tracks":{},{}}})", runs.empty() ? "" : ",", names_json(names),
                        tracks, limits_json(cuts));
  }
  const std::string header = fmt::format(
      R"({{"schema":"genscope.page/1","mode":"compare","compare":{},"runs":[{}],"outlines":{}}})",
      comparison, runs, outlines_json(outlines, blobs));
  return container(header, blobs);
}

std::string gzip(std::string_view bytes) {
  constexpr int kLevel = 1, kGzip = 16 + MAX_WBITS, kMemory = 9;
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string out;
  std::string buffer(std::size_t{1} << 20, '\0');
  do {
    const std::size_t piece = std::min(bytes.size(), kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(piece);
    bytes.remove_prefix(piece);
    int status = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0 && status != Z_STREAM_END);
  } while (!bytes.empty());
  deflateEnd(&stream);
  return out;
}

}  // namespace genscope::report
