#include "inspect/read/torch/zip.h"

#include <algorithm>
#include <cstring>

#include "inspect/read/byte_cursor.h"

namespace genscope::inspect {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint64_t kMaxDirectory = 100'000'000;
constexpr std::size_t kEndBytes = 22, kMaxComment = 65535, kLocatorBytes = 20;
constexpr std::uint32_t kInExtra = 0xFFFFFFFF;  // the value is in the zip64 extra field

template <class T>
T load(const char* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

Result<Directory> read_end64(const ByteSource& source, std::uint64_t end_at) {
  const auto fail = [&](std::uint64_t at) {
    return broken(source, at, "the zip64 end of the archive's directory is not where it should be");
  };
  if (end_at < kLocatorBytes) return fail(end_at);
  std::uint32_t signature = 0, disk = 0;
  std::uint64_t at = 0, ignored = 0;
  ByteCursor locator(source, end_at - kLocatorBytes, end_at, kLocatorBytes);
  locator.take(signature);
  locator.take(disk);
  locator.take(at);
  if (locator.failed() || signature != kLocator64) return fail(end_at - kLocatorBytes);
  constexpr std::uint64_t kEnd64Bytes = 56;
  if (!source.holds(at, kEnd64Bytes)) return fail(end_at - kLocatorBytes);
  ByteCursor cursor(source, at, at + kEnd64Bytes, kEnd64Bytes);
  Directory directory;
  cursor.take(signature);
  cursor.skip(20);  // its size, versions, disks
  cursor.take(ignored);
  cursor.take(directory.entries);
  cursor.take(directory.bytes);
  cursor.take(directory.offset);
  if (cursor.failed() || signature != kEnd64) return fail(at);
  return directory;
}

Result<Directory> find_directory(const ByteSource& source) {
  const std::uint64_t n = std::min<std::uint64_t>(source.size(), kEndBytes + kMaxComment);
  std::string tail(n, '\0');
  const std::uint64_t from = source.size() - n;
  if (Status read = source.read(from, tail); !read) return std::move(read).error();
  for (std::size_t at = n < kEndBytes ? 0 : n - kEndBytes + 1; at-- > 0;) {
    const char* const end = tail.data() + at;
    if (load<std::uint32_t>(end) != kEnd) continue;
    if (load<std::uint16_t>(end + 20) != n - at - kEndBytes) continue;
    Directory directory{load<std::uint32_t>(end + 16), load<std::uint32_t>(end + 12),
                        load<std::uint16_t>(end + 10)};
    const bool wide =
        directory.offset == kInExtra || directory.bytes == kInExtra || directory.entries == 0xFFFF;
    if (!wide) return directory;
    return read_end64(source, from + at);
  }
  return broken(source, source.size(), "the archive's directory at its end is missing",
                "the download is incomplete: fetch it again");
}

// Replaces sizes and offset that did not fit in 32 bits.
bool take_extra(ByteCursor& cursor, std::uint16_t length, ZipEntry& entry) {
  const std::uint64_t end = cursor.offset() + length;
  while (cursor.offset() + 4 <= end) {
    std::uint16_t id = 0, size = 0;
    if (!cursor.take(id) || !cursor.take(size)) return false;
    if (size > end - cursor.offset()) return cursor.fail("an extra field longer than its entry");
    const std::uint64_t next = cursor.offset() + size;
    if (id == 1) {
      for (std::uint64_t* const value : {&entry.bytes, &entry.stored_bytes, &entry.header}) {
        if (*value != kInExtra || cursor.offset() + 8 > next) continue;
        if (!cursor.take(*value)) return false;
      }
    }
    if (!cursor.skip(next - cursor.offset())) return false;
  }
  return cursor.skip(end - cursor.offset());
}

bool take_entry(ByteCursor& cursor, std::string_view suffix, std::vector<ZipEntry>& found) {
  std::uint32_t signature = 0, stored = 0, bytes = 0, header = 0;
  std::uint16_t flags = 0, name_length = 0, extra_length = 0, comment_length = 0;
  ZipEntry entry;
  if (!cursor.take(signature)) return false;
  if (signature != kEntry) return cursor.fail("an entry of the archive's directory is expected");
  cursor.skip(4);  // versions
  cursor.take(flags);
  cursor.take(entry.method);
  cursor.skip(8);  // time, date, checksum
  cursor.take(stored);
  cursor.take(bytes);
  cursor.take(name_length);
  cursor.take(extra_length);
  cursor.take(comment_length);
  cursor.skip(8);  // disk, attributes
  if (!cursor.take(header)) return false;
  entry.stored_bytes = stored;
  entry.bytes = bytes;
  entry.header = header;
  entry.encrypted = (flags & 1) != 0;
  const bool ok = cursor.text(name_length, entry.name) && take_extra(cursor, extra_length, entry) &&
                  cursor.skip(comment_length);
  if (ok && entry.name.ends_with(suffix)) found.push_back(std::move(entry));
  return ok;
}

}  // namespace

Result<std::vector<ZipEntry>> find_zip_entries(const ByteSource& source, std::string_view suffix) {
  const Result<Directory> directory = find_directory(source);
  if (!directory) return directory.error();
  if (!source.holds(directory->offset, directory->bytes) || directory->bytes > kMaxDirectory) {
    return broken(source, source.size() - kEndBytes,
                  "the archive's directory claims " + std::to_string(directory->bytes) +
                      " bytes at " + std::to_string(directory->offset));
  }
  ByteCursor cursor(source, directory->offset, directory->offset + directory->bytes, kMaxDirectory);
  std::vector<ZipEntry> found;
  constexpr std::size_t kMostFound = 64;
  for (std::uint64_t i = 0; i < directory->entries && found.size() < kMostFound; ++i) {
    if (!take_entry(cursor, suffix, found)) return cursor.error();
  }
  return found;
}

Result<std::string> read_zip_entry(const ByteSource& source, const ZipEntry& entry,
                                   std::uint64_t limit) {
  const std::string name = shown(entry.name);
  if (entry.method != 0 || entry.encrypted) {
    return Error{ErrorCode::unsupported,
                 source.path() + ": byte " + std::to_string(entry.header) + ": entry " + name +
                     " is compressed or encrypted, torch stores it plain; load the file and save "
                     "it again, best as safetensors"};
  }
  if (entry.bytes != entry.stored_bytes) {
    return broken(source, entry.header, "the stored entry " + name + " has two different sizes");
  }
  if (entry.bytes > limit) {
    return broken(source, entry.header,
                  "entry " + name + " claims " + std::to_string(entry.bytes) + " bytes, " +
                      std::to_string(limit) + " are allowed");
  }
  constexpr std::uint64_t kLocalBytes = 30;
  char local[kLocalBytes];
  if (Status read = source.read(entry.header, local); !read) return std::move(read).error();
  if (load<std::uint32_t>(local) != kLocalHeader) {
    return broken(source, entry.header, "entry " + name + " is not where the directory says");
  }
  const std::uint64_t at = entry.header + kLocalBytes + load<std::uint16_t>(local + 26) +
                           load<std::uint16_t>(local + 28);
  if (!source.holds(at, entry.bytes)) {
    return broken(source, at,
                  "entry " + name + " claims " + std::to_string(entry.bytes) +
                      " bytes, more than the file has");
  }
  std::string bytes(entry.bytes, '\0');
  if (Status read = source.read(at, bytes); !read) return std::move(read).error();
  return bytes;
}

}  // namespace genscope::inspect
