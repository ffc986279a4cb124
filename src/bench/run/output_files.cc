#include "bench/run/output_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace genscope::bench {
namespace {

namespace fs = std::filesystem;

// Time stamps of files come from the tick of the kernel's clock.
constexpr std::int64_t kTickNs = 20'000'000;

bool equal_files(const std::string& a, const std::string& b) {
  std::error_code failed;
  const auto size = fs::file_size(a, failed);
  if (failed || size != fs::file_size(b, failed) || failed) return false;
  const Result<base::MappedFile> x = base::MappedFile::open(a), y = base::MappedFile::open(b);
  if (!x || !y || x->bytes().size() != y->bytes().size()) return false;
  return std::equal(x->bytes().begin(), x->bytes().end(), y->bytes().begin());
}

std::int64_t changed_ns(const struct stat& file) {
  return static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1'000'000'000 + file.st_mtim.tv_nsec;
}

}  // namespace

OutputFiles::OutputFiles(std::string keep) : folder_(std::move(keep)), keep_(!folder_.empty()) {
  if (keep_) {
    folder_ = base::absolute_path(folder_);
    if (!base::make_directories(folder_)) folder_.clear();
    return;
  }
  const char* const tmp = std::getenv("TMPDIR");
  folder_ = std::string(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp") + "/genscope-out-XXXXXX";
  if (::mkdtemp(folder_.data()) == nullptr) folder_.clear();
}

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  if (!keep_ && !folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<std::string> OutputFiles::take(const std::string& path, std::int64_t began_unix_ns) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return base::errno_error("cannot read", path, errno);
  if (changed_ns(file) + kTickNs < began_unix_ns) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{} is older than the run: it did not write it", path)};
  }
  const std::string name = base::file_name_from(fs::path(path).filename().string(), 60);
  std::string copy;
  std::error_code failed;
  do {
    copy = fmt::format("{}/{:05}-{}", folder_, ++count_, name);
  } while (keep_ && fs::exists(copy, failed));
  std::string& before = last_[path];
  if (!before.empty() && equal_files(path, before)) {
    fs::create_hard_link(before, copy, failed);
    if (!failed) return copy;
  }
  fs::copy_file(path, copy, failed);
  if (failed)
    return Error{ErrorCode::io, fmt::format("cannot copy {}: {}", path, failed.message())};
  before = copy;
  return copy;
}

}  // namespace genscope::bench
