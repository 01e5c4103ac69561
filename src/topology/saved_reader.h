// Reads the fields of a saved topology out of a JSON document. The first fault is kept, with its
// place ("gpus[3].slot_width"); after it everything reads as absent, so that the caller stays a
// straight line.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "topology/saved_fields.h"

namespace comm_probe::topology::saved {

class Fault {
 public:
  void say(const std::string& where, const std::string& what) {
    if (!text_) text_ = where + ": " + what;
  }
  const std::optional<std::string>& text() const { return text_; }

 private:
  std::optional<std::string> text_ = {};
};

class Reader {
 public:
  static constexpr std::size_t kLongestList = 1 << 20;
  static constexpr std::size_t kLongestText = 1 << 20;

  Reader(const core::Json& object, std::string where, Fault& fault)
      : object_(object), where_(std::move(where)), fault_(fault) {
    if (!object.is_object()) fault_.say(where_, "expected an object");
  }

  void text(const char* key, std::string& value);
  void known_text(const char* key, std::optional<std::string>& value);
  void number(const char* key, std::optional<int>& value, int least, int most);
  void number(const char* key, std::optional<std::uint64_t>& value, int least, int most);
  void number_of(const char* key, int& value, int least, int most);
  void whole(const char* key, int& value, int least, int most) {
    number_of(key, value, least, most);
  }
  void flag(const char* key, bool& value);
  void flag(const char* key, std::optional<bool>& value);
  void flag_of(const char* key, bool& value) { flag(key, value); }
  void rate(const char* key, std::optional<core::Bandwidth>& value);
  void nccl_rate(const char* key, NcclRate& value);
  void size(const char* key, std::optional<core::Bytes>& value);
  void time(const char* key, core::Duration& value);
  void hex(const char* key, std::uint64_t& value);
  void letter(const char* key, char& value);
  void numbers(const char* key, std::vector<int>& values);
  void texts(const char* key, std::vector<std::string>& values);

  template <class Enum>
  void word(const char* key, Enum& value, std::span<const char* const> names) {
    std::string name;
    text(key, name);
    if (name.empty()) return;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (name == names[i]) {
        value = static_cast<Enum>(i);
        return;
      }
    fail(key, "not one of the words that stand here");
  }
  template <class T>
  void record(const char* key, T& value) {
    if (const core::Json* inner = find(key)) {
      Reader reader(*inner, place(key), fault_);
      fields(reader, value);
    }
  }
  template <class T>
  void record(const char* key, std::optional<T>& value) {
    if (find(key) == nullptr) return;
    value.emplace();
    record(key, *value);
  }
  template <class T>
  void list(const char* key, std::vector<T>& values) {
    const core::Json* inner = array(key);
    if (inner == nullptr) return;
    for (const core::Json& element : *inner) {
      Reader reader(element, fmt::format("{}[{}]", place(key), values.size()), fault_);
      fields(reader, values.emplace_back());
      if (fault_.text()) return;
    }
  }

  const core::Json* find(const char* key) const;
  // The list under a key; null where there is none, or one that is too long.
  const core::Json* array(const char* key);
  void fail(const char* key, const std::string& what) { fault_.say(place(key), what); }
  std::string place(const char* key) const { return where_.empty() ? key : where_ + "." + key; }

 private:
  std::optional<double> figure(const char* key, double least, double most);
  std::optional<std::int64_t> integer(const core::Json& value, const std::string& where,
                                      std::int64_t least, std::int64_t most);

  const core::Json& object_;
  std::string where_;
  Fault& fault_;
};

}  // namespace comm_probe::topology::saved
