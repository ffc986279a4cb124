#include "inspect/read/torch/torch.h"

#include <algorithm>

#include "inspect/read/torch/pickle.h"
#include "inspect/read/torch/state_dict.h"
#include "inspect/read/torch/zip.h"

namespace genscope::inspect {
namespace {

constexpr std::uint64_t kMaxPickle = 64'000'000;
// A pickle of the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8\x50\x19.";

Error bad_pickle(const ByteSource& source, std::uint64_t offset, const Pickle& pickle) {
  return broken(source, offset, pickle.reason(),
                "the checkpoint is damaged or made to harm: fetch it again, best as safetensors");
}

void take(const Pickle& pickle, std::string_view where, TensorFile& file) {
  take_state_dict(pickle, file);
  pickle.report(where, file.notes);
}

// The object's pickle in a legacy file begins behind three small ones. Nothing if there are not
// that many; the walk's reason tells.
std::optional<std::size_t> object_of(Pickle& pickle, std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return 0;
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    if (!pickle.walk(at)) return std::nullopt;
    at = pickle.offset();
  }
  return at;
}

}  // namespace

bool looks_like_zip(std::string_view head) noexcept { return head.starts_with("PK\x03\x04"); }

bool looks_like_pickle(std::string_view head) noexcept {
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return true;
  const std::size_t line = head.find('\n');
  return head.starts_with('c') && line != std::string_view::npos && line > 1 &&
         std::ranges::all_of(head.substr(1, line - 1), [](char c) {
           return c == '.' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z');
         });
}

Result<TensorFile> read_torch_zip(const ByteSource& source) {
  const Result<std::vector<ZipEntry>> entries = find_zip_entries(source, "data.pkl");
  if (!entries) return entries.error();
  if (entries->empty()) {
    return Error{ErrorCode::unsupported, source.path() +
                                             ": byte 0: a zip archive without data.pkl "
                                             "is no torch checkpoint; unpack it"};
  }
  if (entries->size() > 1) {
    return broken(source, (*entries)[1].header, "the archive has more than one data.pkl");
  }
  const ZipEntry& entry = entries->front();
  Result<std::string> read = read_zip_entry(source, entry, kMaxPickle);
  if (!read) return read.error();
  const auto bytes = std::make_shared<const std::string>(std::move(*read));
  Pickle pickle(*bytes, source.size());
  if (!pickle.walk()) {
    Error error = bad_pickle(source, pickle.offset(), pickle);
    error.message.insert(source.path().size(), ": " + entry.name);
    return error;
  }
  TensorFile file;
  take(pickle, "data.pkl", file);
  file.path = source.path();
  file.container = Container::torch_zip;
  file.file_bytes = source.size();
  file.header_bytes = bytes->size();
  file.names = bytes;
  return file;
}

Result<TensorFile> read_torch_legacy(const ByteSource& source) {
  const std::uint64_t most = std::min(source.size(), kMaxPickle);
  // Its length is not written anywhere: more is read until the pickle ends.
  for (std::uint64_t size = std::min<std::uint64_t>(most, 1 << 20);;
       size = std::min(most, 4 * size)) {
    auto bytes = std::make_shared<std::string>(size, '\0');
    if (Status read = source.read(0, *bytes); !read) return std::move(read).error();
    Pickle pickle(*bytes, source.size());
    const auto object = object_of(pickle, *bytes);
    if (!object || !pickle.walk(*object)) {
      if (pickle.ran_out() && size < most) continue;
      return bad_pickle(source, pickle.offset(), pickle);
    }
    TensorFile file;
    take(pickle, "the pickle", file);
    file.path = source.path();
    file.container = Container::torch_legacy;
    file.file_bytes = source.size();
    file.header_bytes = pickle.offset();
    file.names = std::move(bytes);
    return file;
  }
}

}  // namespace genscope::inspect
