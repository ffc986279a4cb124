// JsonBlock: a JSON value as the bytes it stands in, looked into on demand. No tree is built, so
// that a report of a gigabyte needs no more than its own bytes; each level that is looked into is
// passed over once more.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "genscope/error.h"
#include "store/import/json_cursor.h"

namespace genscope::compat::inferix {

class JsonBlock {
 public:
  // `bytes` outlive the block; `path` is what messages call it: "report.json:
  // stage_analysis.stages".
  JsonBlock(std::string_view bytes, std::string path, store::JsonType type)
      : bytes_(bytes), path_(std::move(path)), type_(type) {}
  // The one value that `text` holds.
  static Result<JsonBlock> parse(std::string_view text, const std::string& name);

  store::JsonType type() const { return type_; }
  const std::string& path() const { return path_; }
  std::string_view bytes() const { return bytes_; }

  // Calls for each member or element until one fails. The block must have that type, else an Error
  // that says which it has.
  using Member = std::function<Status(std::string_view key, const JsonBlock& value)>;
  Status members(const Member& each) const;
  using Element = std::function<Status(const JsonBlock& value)>;
  Status elements(const Element& each) const;

  // A number; nothing for null and for what is not finite.
  Status number(std::optional<double>& out) const;
  Status string(std::string& out) const;
  // A string as it is, anything else as it stands in the file.
  std::string text() const;

 private:
  Error wrong(const char* wanted) const;
  Error damaged(const store::JsonCursor& cursor, store::Scan scan) const;
  // The next value of a cursor that stands before it.
  Result<JsonBlock> next(store::JsonCursor& cursor, std::string path) const;

  std::string_view bytes_;
  std::string path_;
  store::JsonType type_;
};

}  // namespace genscope::compat::inferix
