// Which reader a file needs, by its first bytes.
#include <algorithm>
#include <array>

#include "inspect/read/gguf/gguf.h"
#include "inspect/read/readers.h"
#include "inspect/read/safetensors.h"
#include "inspect/read/sharded.h"
#include "inspect/read/torch/torch.h"

namespace genscope {
namespace inspect {
namespace {

constexpr std::size_t kHeadBytes = 512;

Result<std::string> head_of(const ByteSource& source) {
  if (source.size() == 0) {
    return Error{ErrorCode::bad_data,
                 source.path() + ": byte 0: the file is empty; fetch it again"};
  }
  std::string head(std::min<std::uint64_t>(kHeadBytes, source.size()), '\0');
  if (Status read = source.read(0, head); !read) return std::move(read).error();
  return head;
}

bool is_json(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{';
}

Error unknown(const ByteSource& source, std::string_view head) {
  const char* what =
      "neither safetensors, GGUF nor a torch checkpoint; name a model file, its "
      "index or its folder";
  if (head.starts_with("version https://")) {
    what = "a Git LFS pointer, not the weights; run `git lfs pull`";
  } else if (is_json(head)) {
    what = "a JSON file where weights are expected; name the model's folder or its weights";
  } else if (head.size() > 262 && head.substr(257, 5) == "ustar") {
    what = "a tar archive, as torch wrote before 2017; load it and save it again";
  }
  return {ErrorCode::bad_data, source.path() + ": byte 0: " + what};
}

}  // namespace

Result<TensorFile> read_container(const ByteSource& source) {
  const Result<std::string> head = head_of(source);
  if (!head) return head.error();
  // In this order: the count of a GGUF's tensors may look like a safetensors header, whose length
  // may look like a pickle.
  if (looks_like_gguf(*head)) return read_gguf(source);
  if (looks_like_safetensors(*head)) return read_safetensors(source);
  if (looks_like_zip(*head)) return read_torch_zip(source);
  if (looks_like_pickle(*head)) return read_torch_legacy(source);
  return unknown(source, *head);
}

Result<TensorFile> read_model_file(const std::string& path, std::vector<std::string>* files) {
  const auto source = FileSource::open(path);
  if (!source) return source.error();
  const Result<std::string> head = head_of(**source);
  if (!head) return head.error();
  if (files != nullptr) files->push_back(path);
  if (is_json(*head) && !looks_like_safetensors(*head)) return read_sharded(**source, files);
  Result<TensorFile> file = read_container(**source);
  if (!file || file->container != Container::gguf) return file;
  const std::string_view parts = file->meta("split.count");
  if (parts.empty() || parts == "0" || parts == "1") return file;
  return read_gguf_split(std::move(*file), **source, files);
}

}  // namespace inspect

Result<TensorFile> read_tensor_file(const std::string& path) {
  return inspect::read_model_file(path, nullptr);
}

}  // namespace genscope
