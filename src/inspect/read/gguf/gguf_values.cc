#include "inspect/read/gguf/gguf_values.h"

#include <array>
#include <bit>
#include <charconv>

#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

enum class Type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};
// Bytes of each type; 0 where they vary.
constexpr std::array<std::uint64_t, 13> kWidths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr int kMaxArrayDepth = 4;
constexpr std::size_t kMaxOriginalShapes = 1 << 16;
constexpr std::string_view kOriginalShape = "comfy.gguf.orig_shape.";

bool take_type(ByteCursor& cursor, Type& type) {
  std::uint32_t number = 0;
  if (!cursor.take(number)) return false;
  if (number >= kWidths.size()) {
    return cursor.fail("a value of type " + std::to_string(number) + ", which GGUF does not have");
  }
  type = static_cast<Type>(number);
  return true;
}

template <class T>
bool take_number(ByteCursor& cursor, std::string& text) {
  T value{};
  if (!cursor.take(value)) return false;
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  text.assign(buffer.data(), end);
  return true;
}

bool take_scalar(ByteCursor& cursor, bool wide, Type type, std::string& text) {
  switch (type) {
    case Type::u8:
      return take_number<std::uint8_t>(cursor, text);
    case Type::i8:
      return take_number<std::int8_t>(cursor, text);
    case Type::u16:
      return take_number<std::uint16_t>(cursor, text);
    case Type::i16:
      return take_number<std::int16_t>(cursor, text);
    case Type::u32:
      return take_number<std::uint32_t>(cursor, text);
    case Type::i32:
      return take_number<std::int32_t>(cursor, text);
    case Type::u64:
      return take_number<std::uint64_t>(cursor, text);
    case Type::i64:
      return take_number<std::int64_t>(cursor, text);
    case Type::f32:
      return take_number<float>(cursor, text);
    case Type::f64:
      return take_number<double>(cursor, text);
    case Type::boolean: {
      std::uint8_t value = 0;
      if (!cursor.take(value)) return false;
      text = value != 0 ? "true" : "false";
      return true;
    }
    case Type::string: {
      std::uint64_t length = 0;
      return take_count(cursor, wide, length) && cursor.text(length, text);
    }
    case Type::array:
      break;
  }
  return cursor.fail("an array where one value is expected");
}

struct Array {
  Type type = Type::u8;
  std::uint64_t count = 0;
};

bool take_array_head(ByteCursor& cursor, bool wide, Array& array) {
  if (!take_type(cursor, array.type) || !take_count(cursor, wide, array.count)) return false;
  const std::uint64_t width = kWidths[static_cast<std::size_t>(array.type)];
  // A string has at least its length, an array its type and count.
  const std::uint64_t least = width > 0 ? width : (wide ? 8 : 4);
  if (array.count > cursor.left() / least) {
    return cursor.fail("an array of " + std::to_string(array.count) +
                       " elements does not fit in the file");
  }
  return true;
}

bool skip_elements(ByteCursor& cursor, bool wide, const Array& array, int depth) {
  const std::uint64_t width = kWidths[static_cast<std::size_t>(array.type)];
  if (width > 0) return cursor.skip(array.count * width);
  if (depth > kMaxArrayDepth) return cursor.fail("arrays are nested too deeply");
  for (std::uint64_t i = 0; i < array.count; ++i) {
    if (array.type == Type::string) {
      std::uint64_t length = 0;
      if (!take_count(cursor, wide, length) || !cursor.skip(length)) return false;
      continue;
    }
    Array inner;
    if (!take_array_head(cursor, wide, inner) || !skip_elements(cursor, wide, inner, depth + 1)) {
      return false;
    }
  }
  return true;
}

bool take_original_shape(ByteCursor& cursor, std::string_view name, std::uint64_t count,
                         GgufValues& values) {
  ShapeBuilder shape;
  bool usable = true;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::int32_t size = 0;
    if (!cursor.take(size)) return false;
    usable = usable && size >= 0 && shape.add(static_cast<std::uint64_t>(size));
  }
  if (usable && values.original_shapes.size() < kMaxOriginalShapes) {
    values.original_shapes.emplace_back(name, shape.shape());
  }
  return true;
}

bool take_alignment(ByteCursor& cursor, const std::string& text, GgufValues& values) {
  std::uint64_t alignment = 0;
  std::from_chars(text.data(), text.data() + text.size(), alignment);
  constexpr std::uint64_t kMost = 1 << 20;
  if (!std::has_single_bit(alignment) || alignment > kMost) {
    return cursor.fail("general.alignment is " + text + ", not a power of two");
  }
  values.alignment = alignment;
  return true;
}

}  // namespace

bool take_count(ByteCursor& cursor, bool wide, std::uint64_t& value) {
  if (wide) return cursor.take(value);
  std::uint32_t narrow = 0;
  if (!cursor.take(narrow)) return false;
  value = narrow;
  return true;
}

bool take_pair(ByteCursor& cursor, bool wide, GgufValues& values) {
  std::string key, text;
  Type type = Type::u8;
  if (!take_scalar(cursor, wide, Type::string, key) || !take_type(cursor, type)) return false;
  if (type != Type::array) {
    if (!take_scalar(cursor, wide, type, text)) return false;
    if (key == "general.alignment" && !take_alignment(cursor, text, values)) return false;
  } else {
    Array array;
    if (!take_array_head(cursor, wide, array)) return false;
    constexpr std::uint64_t kMostSizes = 64;
    if (key.starts_with(kOriginalShape) && array.type == Type::i32 && array.count <= kMostSizes) {
      return take_original_shape(cursor, std::string_view(key).substr(kOriginalShape.size()),
                                 array.count, values);
    }
    if (!skip_elements(cursor, wide, array, 1)) return false;
    text = "array[" + std::to_string(array.count) + "]";
  }
  if (values.metadata.size() >= kMaxMetadata) {
    ++values.left_out;
  } else {
    values.metadata.emplace_back(std::move(key), std::move(text));
  }
  return true;
}

}  // namespace genscope::inspect
