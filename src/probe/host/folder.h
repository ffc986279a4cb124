// The names in a folder, without allocation: opendir() would take 32 KiB.
#pragma once

#include <string_view>

#include "base/file_reader.h"

namespace genscope::probe {

class FolderVisitor {
 public:
  virtual ~FolderVisitor() = default;
  // False: enough.
  virtual bool visit(std::string_view name) noexcept = 0;
};

// Calls `visitor` for each name but those that start with a dot, in the folder's order. 0 or an
// errno.
int visit_folder(base::Files& files, const char* path, FolderVisitor& visitor) noexcept;

// The same with a callable: bool(std::string_view).
template <class Visit>
int for_each_name(base::Files& files, const char* path, Visit&& visit) noexcept {
  struct Visitor final : FolderVisitor {
    explicit Visitor(Visit& v) noexcept : call(v) {}
    bool visit(std::string_view name) noexcept override { return call(name); }
    Visit& call;
  } visitor(visit);
  return visit_folder(files, path, visitor);
}

}  // namespace genscope::probe
