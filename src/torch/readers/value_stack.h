// The stack on which a pickle or a JSON text builds its values: numbers, strings that are numbered
// by content, lists and dictionaries. A dictionary that is an entry of the recorder or a stack
// frame becomes a record as soon as it closes, and only its number stays; so a dump of any size
// needs little more memory than its records.
//
// Bounds against hostile files: kDeepest open containers, kMostOpen values in them, bytes of the
// closed ones that grow with the file (limit_of: a ring of 20,000 entries of 60 frames needs 35 MB
// where another pickler has put everything into the memo), no recursion over values.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::torch {

struct Value {
  enum class Kind : std::uint32_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kDict,
    kMark,
    kUnset,
    kEntry,
    kFrame,
    kStack
  };
  Kind kind = Kind::kNone;
  std::uint32_t index = 0;  // string, list, dictionary, entry or frame
  std::int64_t number = 0;  // kBool, kInt; bits of kFloat
};

// Strings by content; the words that the reader looks for come first, so that comparing with one of
// them is comparing numbers.
class StringTable {
 public:
  explicit StringTable(std::span<const std::string_view> known);
  // `text` must outlive the table (it points into the file).
  std::uint32_t number(std::string_view text);
  std::uint32_t own(std::string text);  // keeps a copy
  std::string_view text(std::uint32_t number) const { return texts_[number]; }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  void grow();
  std::vector<std::string_view> texts_ = {};
  std::vector<std::uint32_t> slots_ = {};
  std::deque<std::string> owned_ = {};
};

// Called when a dictionary closes; may replace it by a record.
class DictSink {
 public:
  virtual ~DictSink() = default;
  // Keys and values in turn. True: `replacement` stands for the dictionary.
  virtual bool take(std::span<const Value> pairs, Value& replacement) = 0;
  // A list of nothing but frames. False: it is something else.
  virtual bool take_frames(std::span<const Value> frames, Value& replacement) = 0;
};

class ValueStack {
 public:
  static constexpr std::size_t kDeepest = 100;
  // Values that no container has taken yet; a recorder of 20,000 entries has as many.
  static constexpr std::size_t kMostOpen = 1'000'000;

  ValueStack(std::uint64_t file_bytes, DictSink& sink);

  void push(Value value) { stack_.push_back(value); }
  void push_number(Value::Kind kind, std::int64_t number) { stack_.push_back({kind, 0, number}); }
  void push_string(std::uint32_t number) { stack_.push_back({Value::Kind::kString, number, 0}); }
  void push_list() { push_container(Value::Kind::kList); }
  void push_dict() { push_container(Value::Kind::kDict); }
  bool mark();  // false: too deep
  // The values since the last mark go into the list or dictionary below it. False: there is none.
  bool append_marked();
  bool set_items_marked();
  bool append_one();             // list, value -> list
  bool set_one();                // dict, key, value -> dict
  bool tuple(std::size_t size);  // the last `size` values become a list
  bool tuple_marked();
  // `beside`: bytes that the machine itself keeps.
  bool has_room(std::size_t beside = 0) const {
    return stack_.size() < kMostOpen &&
           items_.size() * sizeof(Value) + objects_.size() * sizeof(Object) + beside < limit_;
  }
  // From now on a container may be reached in two ways (memo): nothing is thrown away any more.
  void share() { shared_ = true; }
  // Takes the value on top; what it reaches is not thrown away. A list that stays has 1 as its
  // number: its index is its own.
  Value take_for_good();

  std::span<const Value> stack() const { return stack_; }
  const Value& top() const { return stack_.back(); }
  bool empty() const { return stack_.empty(); }
  // What a dictionary became, if it became something.
  Value resolved(const Value& value) const;
  // The values of a list, or keys and values of a dictionary in turn; at most `most`.
  template <class Visit>
  void each(const Value& container, std::size_t most, const Visit& visit) const {
    if (container.kind != Value::Kind::kList && container.kind != Value::Kind::kDict) return;
    for (std::uint32_t o = container.index; o != kNoMore; o = objects_[o].next)
      for (std::uint32_t i = 0; i < objects_[o].size; ++i) {
        if (most-- == 0) return;
        visit(resolved(items_[objects_[o].begin + i]));
      }
  }
  template <class Visit>
  void each_pair(const Value& dict, std::size_t most, const Visit& visit) const {
    Value key;
    bool is_key = true;
    if (dict.kind != Value::Kind::kDict) return;
    each(dict, 2 * most, [&](const Value& value) {
      if (is_key)
        key = value;
      else if (key.kind == Value::Kind::kString)
        visit(key.index, value);
      is_key = !is_key;
    });
  }

 private:
  static constexpr std::uint32_t kNoMore = 0xffffffff;
  // A run of values; a container that grows in several steps is a chain of them.
  struct Object {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t next = kNoMore;
    std::uint32_t last = kNoMore;  // of the chain; the object itself where there is no other
    Value became = {};
  };
  struct Mark {
    std::size_t objects;
    std::size_t items;
  };

  void push_container(Value::Kind kind);
  std::uint32_t new_object(std::uint32_t begin, std::uint32_t size);
  // The lowest value that an opcode without a mark of its own may touch.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back() + 1; }
  void add(std::uint32_t object, std::size_t from);
  std::uint32_t own_list(std::size_t at);
  bool give_to_sink(std::uint32_t dict, std::size_t from);
  static std::uint64_t limit_of(std::uint64_t file_bytes) {
    return (std::uint64_t{32} << 20) + file_bytes / 4;
  }

  std::vector<Value> stack_ = {};
  std::vector<std::size_t> marks_ = {};
  std::vector<Mark> at_mark_ = {};
  std::vector<Value> items_ = {};
  std::vector<Object> objects_ = {};
  std::uint64_t limit_;
  DictSink& sink_;
  Mark for_good_ = {0, 0};  // below it nothing is thrown away
  bool shared_ = false;
};

}  // namespace comm_probe::torch
