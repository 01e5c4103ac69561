// Records as bytes, from one process of this program to another of the same build (`mpirun`); never
// a file format. A record says which fields it has, once for both directions:
//
//   template <class Archive> void pack_fields(Archive& archive, Call& call) {
//     archive(call.name, call.ranks);
//   }
//   Packer packer;
//   packer(call);            // -> packer.bytes()
//   Unpacker unpacker(bytes);
//   unpacker(call);          // unpacker.ok() is false where the bytes end too early
//
// Records that can be copied byte by byte need nothing. What a shared_ptr points to is written
// once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace comm_probe::core {

class Packer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string bytes() { return std::move(bytes_); }

 private:
  void raw(const void* data, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }
  void count(std::size_t size) {
    const std::uint64_t number = size;
    raw(&number, sizeof number);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      raw(&value, sizeof value);
    else
      pack_fields(*this, const_cast<T&>(value));  // it only reads here
  }
  void put(const std::string& text) {
    count(text.size());
    raw(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    count(values.size());
    if constexpr (std::is_trivially_copyable_v<T>)
      raw(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Key, class T>
  void put(const std::map<Key, T>& values) {
    count(values.size());
    for (const auto& [key, value] : values) put(key), put(value);
  }
  template <class T>
  void put(const std::shared_ptr<const T>& shared) {
    put(shared != nullptr);
    if (!shared) return;
    const auto [place, is_new] = shared_.try_emplace(shared.get(), shared_.size());
    count(place->second);
    if (is_new) put(*shared);
  }

  std::string bytes_ = {};
  std::unordered_map<const void*, std::size_t> shared_ = {};
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool ok() const { return ok_; }

 private:
  bool raw(void* data, std::size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) return false;
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  // Of things that take at least `each` bytes.
  std::size_t count(std::size_t each) {
    std::uint64_t number = 0;
    raw(&number, sizeof number);
    ok_ = ok_ && number <= bytes_.size() / each;
    return ok_ ? static_cast<std::size_t>(number) : 0;
  }
  // A byte that is neither is no bool: reading it as one would be undefined.
  void get(bool& value) {
    unsigned char byte = 0;
    raw(&byte, sizeof byte);
    ok_ = ok_ && byte <= 1;
    value = ok_ && byte == 1;
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      raw(&value, sizeof value);
    else
      pack_fields(*this, value);
  }
  void get(std::string& text) {
    text.resize(count(1));
    raw(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      values.resize(count(sizeof(T)));
      raw(values.data(), values.size() * sizeof(T));
    } else {
      values.resize(count(1));
      for (T& value : values) get(value);
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    if (!is_there || !ok_) return value.reset();
    get(value.emplace());
  }
  template <class Key, class T>
  void get(std::map<Key, T>& values) {
    for (std::size_t left = count(1); left > 0 && ok_; --left) {
      Key key = {};
      get(key);
      get(values[std::move(key)]);
    }
  }
  template <class T>
  void get(std::shared_ptr<const T>& shared) {
    bool is_there = false;
    get(is_there);
    if (!is_there || !ok_) return shared.reset();
    std::uint64_t number = 0;
    raw(&number, sizeof number);
    if (number < shared_.size()) {
      shared = std::static_pointer_cast<const T>(shared_[number]);
      return;
    }
    ok_ = ok_ && number == shared_.size();
    if (!ok_) return;
    const auto made = std::make_shared<T>();
    shared_.push_back(made);
    get(*made);
    shared = made;
  }

  std::string_view bytes_;
  std::vector<std::shared_ptr<const void>> shared_ = {};
  bool ok_ = true;
};

}  // namespace comm_probe::core
