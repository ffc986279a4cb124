#include "inspect/read/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "inspect/read/dtype.h"
#include "inspect/read/json_scan.h"
#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are read as they are");

constexpr std::uint64_t kLengthBytes = 8;

class HeaderReader {
 public:
  HeaderReader(const ByteSource& source, std::string& header)
      : source_(source), scan_(header), data_bytes_(source.size() - kLengthBytes - header.size()) {
    // The shortest entry, `"a":{"dtype":"F4","shape":[],"data_offsets":[0,0]},`, has 51 bytes.
    const auto braces = static_cast<std::size_t>(std::ranges::count(header, '{'));
    const std::size_t most = std::min(braces, header.size() / 51 + 1);
    file_.tensors.reserve(most);
    begins_.reserve(most);
  }

  Result<TensorFile> read();

 private:
  bool entry(std::string_view name);
  bool fields(std::string_view& dtype, bool& shaped, bool& placed);
  bool sizes();
  bool offsets();
  bool check(std::string_view name, std::string_view dtype);
  bool metadata();
  bool tiles();
  // False, with an error of this sentence at the scanner's place.
  bool wrong(std::string what);

  const ByteSource& source_;
  JsonScan scan_;
  std::uint64_t data_bytes_;
  TensorFile file_;
  std::vector<std::uint64_t> begins_;  // of each tensor in the data
  std::optional<Error> error_;
  // Of the entry being read.
  ShapeBuilder shape_;
  std::uint64_t begin_ = 0, end_ = 0;

  Tally folded_, unknown_;
  std::uint64_t metadata_left_out_ = 0;
  bool has_metadata_ = false;
};

bool HeaderReader::wrong(std::string what) {
  if (!error_) error_ = broken(source_, kLengthBytes + scan_.offset(), what);
  return false;
}

Result<TensorFile> HeaderReader::read() {
  scan_.open_object();
  std::string_view name;
  while (scan_.next_member(name)) {
    if (!(name == "__metadata__" ? metadata() : entry(name))) break;
  }
  if (!error_ && !scan_.finish())
    wrong("the header is not valid JSON: " + std::string(scan_.reason()));
  if (error_ || !tiles()) return *std::move(error_);
  if (const auto twice = find_duplicate(file_.tensors)) {
    return broken(source_, kLengthBytes,
                  "the header names tensor " + shown(file_.tensors[*twice].name) + " twice");
  }
  folded_.note(file_.notes, "of more than 8 dimensions: the last ones are shown as their product");
  unknown_.note(file_.notes, "of a dtype that this version does not know: their bytes are counted");
  if (metadata_left_out_ > 0) {
    file_.notes.push_back(std::to_string(metadata_left_out_) + " entries of metadata are left out");
  }
  return std::move(file_);
}

bool HeaderReader::entry(std::string_view name) {
  std::string_view dtype;
  bool shaped = false, placed = false;
  shape_ = {};
  if (!scan_.open_object() || !fields(dtype, shaped, placed)) {
    return wrong("tensor " + shown(name) + ": " + scan_.reason());
  }
  if (dtype.data() == nullptr || !shaped || !placed) {
    return wrong("tensor " + shown(name) + " lacks its dtype, shape or data_offsets");
  }
  return check(name, dtype);
}

bool HeaderReader::fields(std::string_view& dtype, bool& shaped, bool& placed) {
  std::string_view key;
  while (scan_.next_member(key)) {
    if (key == "dtype") {
      if (dtype.data() != nullptr) return scan_.fail("its dtype is given twice");
      if (!scan_.string(dtype)) return false;
    } else if (key == "shape") {
      if (std::exchange(shaped, true)) return scan_.fail("its shape is given twice");
      if (!sizes()) return false;
    } else if (key == "data_offsets") {
      if (std::exchange(placed, true)) return scan_.fail("its data_offsets are given twice");
      if (!offsets()) return false;
    } else if (!scan_.skip()) {
      return false;
    }
  }
  return !scan_.failed();
}

bool HeaderReader::sizes() {
  if (!scan_.open_array()) return false;
  std::uint64_t size = 0;
  while (scan_.next_element()) {
    if (!scan_.natural(size)) return false;
    if (!shape_.add(size)) return scan_.fail("the product of its shape does not fit in 64 bits");
  }
  return !scan_.failed();
}

bool HeaderReader::offsets() {
  if (!scan_.open_array()) return false;
  int count = 0;
  while (scan_.next_element()) {
    if (++count > 2) return scan_.fail("its data_offsets are not two numbers");
    if (!scan_.natural(count == 1 ? begin_ : end_)) return false;
  }
  if (!scan_.failed() && count != 2) return scan_.fail("its data_offsets are not two numbers");
  return !scan_.failed();
}

bool HeaderReader::check(std::string_view name, std::string_view dtype) {
  const auto range = [&] {
    return "tensor " + shown(name) + " has data_offsets [" + std::to_string(begin_) + ", " +
           std::to_string(end_) + "]";
  };
  if (begin_ > end_) return wrong(range() + ", the end before the begin");
  if (end_ > data_bytes_) {
    return wrong(range() + ", the file has " + std::to_string(data_bytes_) + " bytes of data");
  }
  Tensor tensor{name, shape_.shape(), end_ - begin_, safetensors_dtype(dtype)};
  if (tensor.dtype == Dtype::unknown) {
    unknown_.add(name);
  } else if (stored_bytes(tensor.dtype, shape_.elements()) != tensor.bytes) {
    return wrong(range() + ", which do not fit its shape of " + std::to_string(shape_.elements()) +
                 " elements of " + std::string(dtype));
  }
  if (shape_.folded()) folded_.add(name);
  file_.tensors.push_back(tensor);
  begins_.push_back(begin_);
  return true;
}

bool HeaderReader::metadata() {
  if (std::exchange(has_metadata_, true)) return wrong("__metadata__ is given twice");
  std::string_view key, value;
  scan_.open_object();
  while (scan_.next_member(key)) {
    const auto kind = scan_.peek();
    const bool nested = kind == JsonScan::Kind::object || kind == JsonScan::Kind::array;
    std::uint64_t elements = 0;
    if (!(nested ? scan_.skip(&elements) : scan_.scalar(value))) break;
    if (file_.metadata.size() >= kMaxMetadata) {
      ++metadata_left_out_;
    } else if (nested) {
      file_.metadata.emplace_back(key, "array[" + std::to_string(elements) + "]");
    } else {
      file_.metadata.emplace_back(key, value);
    }
  }
  return !scan_.failed() || wrong("__metadata__: " + std::string(scan_.reason()));
}

// Ranges follow one another in most files; else they are sorted first.
bool HeaderReader::tiles() {
  const std::vector<Tensor>& tensors = file_.tensors;
  // An empty tensor goes before the neighbour that begins where it does.
  const auto place = [&](std::uint32_t i) { return std::pair(begins_[i], tensors[i].bytes); };
  bool sorted = true;
  for (std::uint32_t i = 1; i < tensors.size() && sorted; ++i) sorted = place(i - 1) <= place(i);
  std::vector<std::uint32_t> order;
  if (!sorted) {
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, place);
  }
  const std::uint64_t data = source_.size() - data_bytes_;
  std::uint64_t expected = 0;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const std::size_t i = order.empty() ? k : order[k];
    if (begins_[i] != expected) {
      error_ = broken(
          source_, data + std::min(begins_[i], expected),
          "the data of tensor " + shown(tensors[i].name) +
              (begins_[i] < expected ? " overlaps the one before it" : " leaves a hole before it"));
      return false;
    }
    expected += tensors[i].bytes;
  }
  if (expected == data_bytes_) return true;
  error_ = broken(source_, data + expected,
                  std::to_string(data_bytes_ - expected) + " bytes at the end belong to no tensor");
  return false;
}

}  // namespace

bool looks_like_safetensors(std::string_view head) noexcept {
  if (head.size() <= kLengthBytes || head[kLengthBytes] != '{') return false;
  // No length that the format allows reads as text; a JSON document with a brace here does.
  return std::ranges::any_of(head.substr(0, kLengthBytes), [](char c) {
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f';
  });
}

Result<TensorFile> read_safetensors(const ByteSource& source) {
  std::uint64_t length = 0;
  char head[kLengthBytes];
  if (Status read = source.read(0, head); !read) return std::move(read).error();
  std::memcpy(&length, head, sizeof length);
  if (length > kMaxSafetensorsHeader) {
    return broken(source, 0,
                  "the header claims " + std::to_string(length) + " bytes, the format allows " +
                      std::to_string(kMaxSafetensorsHeader));
  }
  if (!source.holds(kLengthBytes, length)) {
    return broken(source, 0,
                  "the header claims " + std::to_string(length) + " bytes, the file has " +
                      std::to_string(source.size() - kLengthBytes) + " after its length",
                  "the download is incomplete or the file damaged: fetch it again");
  }
  auto header = std::make_shared<std::string>(length, '\0');
  if (Status read = source.read(kLengthBytes, *header); !read) return std::move(read).error();
  Result<TensorFile> file = HeaderReader(source, *header).read();
  if (!file) return file;
  file->path = source.path();
  file->container = Container::safetensors;
  file->file_bytes = source.size();
  file->header_bytes = kLengthBytes + length;
  file->names = std::move(header);
  return file;
}

}  // namespace genscope::inspect
