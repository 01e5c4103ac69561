#include "topology/saved_reader.h"

#include <charconv>

namespace comm_probe::topology::saved {

using core::Json;

const Json* Reader::find(const char* key) const {
  if (fault_.text() || !object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json* Reader::array(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= kLongestList) return value;
  fail(key,
       value->is_array() ? fmt::format("more than {} elements", kLongestList) : "expected a list");
  return nullptr;
}

void Reader::text(const char* key, std::string& value) {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_string() || found->get_ref<const std::string&>().size() > kLongestText)
    return fail(key, fmt::format("expected text of at most {} characters", kLongestText));
  value = found->get<std::string>();
}

void Reader::known_text(const char* key, std::optional<std::string>& value) {
  if (find(key) == nullptr) return;
  text(key, value.emplace());
}

std::optional<std::int64_t> Reader::integer(const Json& value, const std::string& where,
                                            std::int64_t least, std::int64_t most) {
  if (value.is_number_integer()) {
    const bool is_too_large =
        value.is_number_unsigned() && value.get<std::uint64_t>() > (std::uint64_t{1} << 62);
    const std::int64_t number = is_too_large ? most + 1 : value.get<std::int64_t>();
    if (number >= least && number <= most) return number;
  }
  fault_.say(where, fmt::format("expected a whole number, {} to {}", least, most));
  return std::nullopt;
}

void Reader::number(const char* key, std::optional<int>& value, int least, int most) {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (const auto number = integer(*found, place(key), least, most))
    value = static_cast<int>(*number);
}

void Reader::number(const char* key, std::optional<std::uint64_t>& value, int least, int most) {
  std::optional<int> number;
  this->number(key, number, least, most);
  if (number) value = static_cast<std::uint64_t>(*number);
}

void Reader::number_of(const char* key, int& value, int least, int most) {
  std::optional<int> number;
  this->number(key, number, least, most);
  value = number.value_or(value);
}

void Reader::flag(const char* key, std::optional<bool>& value) {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return fail(key, "expected true or false");
  value = found->get<bool>();
}

void Reader::flag(const char* key, bool& value) {
  std::optional<bool> found;
  flag(key, found);
  value = found.value_or(value);
}

std::optional<double> Reader::figure(const char* key, double least, double most) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_number()) {
    const auto number = found->get<double>();
    if (std::isfinite(number) && number >= least && number <= most) return number;
  }
  fail(key, fmt::format("expected a number, {} to {:g}", least, most));
  return std::nullopt;
}

void Reader::rate(const char* key, std::optional<core::Bandwidth>& value) {
  if (const auto number = figure(key, 0, 1e9)) value = core::Bandwidth::from_GBps(*number);
}

void Reader::nccl_rate(const char* key, NcclRate& value) {
  if (const auto number = figure(key, 0, 1e9)) value.GBps = static_cast<float>(*number);
}

void Reader::size(const char* key, std::optional<core::Bytes>& value) {
  if (const auto number = figure(key, 0, 1e18)) value = core::Bytes::of(std::floor(*number));
}

void Reader::time(const char* key, core::Duration& value) {
  if (const auto number = figure(key, 0, 1e12)) value = core::Duration::from_us(*number);
}

void Reader::hex(const char* key, std::uint64_t& value) {
  std::string digits;
  text(key, digits);
  if (digits.empty()) return;
  if (digits.starts_with("0x")) digits = digits.substr(2);
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, 16);
  if (error != std::errc() || at != end) fail(key, "expected a hexadecimal number");
}

void Reader::letter(const char* key, char& value) {
  std::string one;
  text(key, one);
  if (one.empty()) return;
  if (one.size() != 1 || one[0] < 'a' || one[0] > 'z') return fail(key, "expected one letter");
  value = one[0];
}

void Reader::numbers(const char* key, std::vector<int>& values) {
  const Json* found = array(key);
  if (found == nullptr) return;
  for (const Json& element : *found)
    if (const auto number = integer(element, place(key), 0, 1 << 20))
      values.push_back(static_cast<int>(*number));
}

void Reader::texts(const char* key, std::vector<std::string>& values) {
  const Json* found = array(key);
  if (found == nullptr) return;
  for (const Json& element : *found) {
    if (!element.is_string() || values.size() >= 4096) return fail(key, "expected a list of texts");
    values.push_back(element.get<std::string>());
  }
}

}  // namespace comm_probe::topology::saved
