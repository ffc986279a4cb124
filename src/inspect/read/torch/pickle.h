// A walk over the opcodes of a pickle, for the tensors that it would build. Nothing is imported,
// called or built: a global is a name, a call gives a tensor where torch's own functions are named
// and otherwise something opaque.
//
// Values are 16 bytes that point into the pickle or into the walk's tables, and their number is
// limited by the pickle's length: a hostile one cannot make us allocate more than a few times that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/inspect.h"
#include "inspect/read/torch/pickle_global.h"

namespace genscope::inspect {

class Pickle {
 public:
  enum class Kind : std::uint8_t {
    absent,   // a memo slot that was not written
    opaque,   // something that we do not look into
    integer,  // at: the value
    text,     // at, size: place in the pickle
    global,   // at: Role, size: Dtype
    tuple,    // at, size: place in tuple_items
    dict,     // at: index in dicts
    storage,  // at: bytes, size: Dtype
    tensor,   // at: index in tensors
  };
  struct Value {
    std::uint64_t at = 0;
    std::uint32_t size = 0;
    Kind kind = Kind::opaque;
  };
  struct Item {
    std::string_view key;
    Value value;
  };
  using Dict = std::vector<Item>;  // only entries with a text for a key
  struct Built {
    Shape shape;
    std::uint64_t bytes = 0;
    Dtype dtype = Dtype::unknown;
    bool folded = false;  // see ShapeBuilder
  };

  // `bytes` must outlive the walk. No storage may claim more than `file_bytes`.
  Pickle(std::string_view bytes, std::uint64_t file_bytes)
      : bytes_(bytes), file_bytes_(file_bytes), budget_(65536 + bytes.size() / 2) {}

  // Walks one pickle from `from` to its STOP. False: reason() and offset() tell.
  bool walk(std::size_t from = 0);
  bool ran_out() const noexcept { return ran_out_; }  // the bytes end before the pickle does
  const std::string& reason() const noexcept { return reason_; }
  std::size_t offset() const noexcept { return at_; }

  const Value& root() const noexcept { return root_; }
  const std::vector<Dict>& dicts() const noexcept { return dicts_; }
  const std::vector<Built>& tensors() const noexcept { return tensors_; }
  std::string_view text(const Value& value) const noexcept;
  // Notes on globals that are none of torch's; `where` names the pickle.
  void report(std::string_view where, std::vector<std::string>& notes) const;

 private:
  bool step(std::uint8_t op);
  bool step_number(std::uint8_t op);
  bool step_text(std::uint8_t op);
  bool step_memo(std::uint8_t op);
  bool step_container(std::uint8_t op);
  bool step_object(std::uint8_t op);

  template <class T>
  bool take(T& value);
  bool take_line(std::string_view& line);
  bool push(Value value);
  bool push_text(std::uint64_t size);
  bool push_span(std::uint64_t size);  // bytes that are not text
  bool push_long(std::uint64_t size);
  bool push_tuple(std::size_t count);
  bool push_dict();
  bool push_global(std::string_view module, std::string_view name);
  bool pop(Value& value);
  bool pop_mark(std::size_t& from);  // where the values above the mark begin
  bool put(std::uint64_t index);
  bool get(std::uint64_t index);
  bool set_items(std::size_t from);
  bool call(const Value& function, const Value& arguments, int depth, Value& result);
  bool build_tensor(const Value& arguments, bool typed, Value& result);
  bool build_storage(const Value& id, Value& result);
  bool fail(std::string reason);

  std::uint64_t used() const noexcept;
  const Value* item(const Value& tuple, std::size_t i) const noexcept;

  std::string_view bytes_;
  std::uint64_t file_bytes_;
  std::uint64_t budget_;  // values in all tables
  std::size_t at_ = 0;
  bool ran_out_ = false;
  std::string reason_;

  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;
  std::uint64_t memo_count_ = 0;
  std::vector<Value> tuple_items_;
  std::vector<Dict> dicts_;
  std::uint64_t dict_items_ = 0;
  std::vector<Built> tensors_;
  Value root_;

  struct Foreign {
    std::string name;
    Role role;
  };
  std::vector<Foreign> foreign_;
  std::uint64_t more_foreign_ = 0;
};

}  // namespace genscope::inspect
