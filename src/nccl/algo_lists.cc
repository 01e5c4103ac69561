#include "nccl/algo_lists.h"

#include <fmt/format.h>

#include <vector>

#include "core/spelling.h"

namespace comm_probe::nccl {
namespace {

using core::Error;
using topology::NcclVersion;

constexpr NcclVersion kPerFunctionLists = {2, 24, 0};

// As strtok: empty pieces between separators do not count.
std::vector<std::string> pieces(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

template <class Names>
std::string meant(const std::string& word, const Names& names) {
  const std::string near = core::nearest_word(word, names);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  std::string known;
  for (const auto name : names) known += (known.empty() ? "known: " : ", ") + std::string(name);
  return known;
}

// One of the two settings: which row of which matrix its names stand for.
template <std::size_t n>
class ListReader {
 public:
  using Rows = std::array<std::array<Allowed, n>, kFunctions>;

  ListReader(const char* setting, std::array<std::string_view, n> names, Rows& rows)
      : setting_(setting), names_(names), rows_(rows) {}

  std::optional<Error> read(const std::string& value) {
    bool is_first = true;
    for (const std::string& entry : pieces(value, ';')) {
      if (auto error = read_entry(entry, is_first)) return error;
      is_first = false;
    }
    return std::nullopt;
  }

  // The form before 2.24.
  void read_flat(const std::string& value, std::vector<std::string>& ignored) {
    if (value.empty()) return;
    const bool excludes = value[0] == '^';
    for (auto& row : rows_) row.fill(excludes ? Allowed::kYes : Allowed::kNo);
    for (const std::string& word : pieces(value.substr(excludes ? 1 : 0), ','))
      if (const auto column = column_of(word))
        for (auto& row : rows_) row[*column] = excludes ? Allowed::kNo : Allowed::kYes;
      else
        ignored.push_back(word);
  }

 private:
  std::optional<std::size_t> column_of(const std::string& word) const {
    for (std::size_t i = 0; i < n; ++i)
      if (same_name(word, names_[i])) return i;
    return std::nullopt;
  }
  static bool same_name(const std::string& word, std::string_view name) {
    return word.size() == name.size() &&
           std::equal(word.begin(), word.end(), name.begin(), [](unsigned char a, unsigned char b) {
             return std::tolower(a) == std::tolower(b);
           });
  }

  std::optional<Error> read_entry(const std::string& entry, bool is_first) {
    const auto parts = pieces(entry, ':');
    if (parts.empty()) return std::nullopt;
    if (parts.size() == 1 && !is_first)
      return core::input_error(
          fmt::format(
              "{}: entry '{}' has no function; NCCL would not start ('All entries except the "
              "first must have a prefix')",
              setting_, entry),
          "write 'allreduce:" + entry + "', or put it first");
    if (parts.size() == 1) return read_list(entry, kAllFunctions);
    const auto function = function_from_name(parts[0]);
    if (!function)
      return core::input_error(
          fmt::format(
              "{}: unknown function '{}'; NCCL would not start ('Unrecognized prefix token')",
              setting_, parts[0]),
          meant(parts[0], kFunctionWords));
    return read_list(parts[1], std::array{*function});
  }

  template <class Functions>
  std::optional<Error> read_list(const std::string& list, const Functions& functions) {
    const bool excludes = list[0] == '^';
    std::array<Allowed, n> row = {};
    row.fill(excludes ? Allowed::kYes : Allowed::kNo);
    for (const std::string& word : pieces(list.substr(excludes ? 1 : 0), ',')) {
      const auto column = column_of(word);
      if (!column)
        return core::input_error(
            fmt::format(
                "{}: unknown name '{}'; NCCL would not start ('Unrecognized element token')",
                setting_, word),
            meant(word, names_));
      row[*column] = excludes ? Allowed::kNo : Allowed::kYes;
    }
    for (const Function function : functions) rows_[index_of(function)] = row;
    return std::nullopt;
  }

  static constexpr std::array<std::string_view, 5> kFunctionWords = {
      "broadcast", "reduce", "allgather", "reducescatter", "allreduce"};

  const char* setting_;
  std::array<std::string_view, n> names_;
  Rows& rows_;
};

template <class Enum, std::size_t n>
std::array<std::string_view, n> names_of(const std::array<Enum, n>& all) {
  std::array<std::string_view, n> names;
  for (std::size_t i = 0; i < n; ++i) names[i] = table_name(all[i]);
  return names;
}

}  // namespace

MethodLists default_method_lists() {
  MethodLists lists;
  for (auto& row : lists.algorithms) row.fill(Allowed::kYes);
  for (auto& row : lists.protocols) row = {Allowed::kYes, Allowed::kAutomatic, Allowed::kYes};
  return lists;
}

core::Result<MethodLists> parse_method_lists(const std::string& algorithms,
                                             const std::string& protocols, NcclVersion version) {
  MethodLists lists = default_method_lists();
  lists.algorithm_text = algorithms;
  lists.protocol_text = protocols;
  ListReader algorithm_reader("NCCL_ALGO", names_of(kAllAlgorithms), lists.algorithms);
  ListReader protocol_reader("NCCL_PROTO", names_of(kAllProtocols), lists.protocols);
  if (version < kPerFunctionLists) {
    algorithm_reader.read_flat(algorithms, lists.ignored);
    protocol_reader.read_flat(protocols, lists.ignored);
    return lists;
  }
  if (auto error = protocol_reader.read(protocols)) return *error;
  if (auto error = algorithm_reader.read(algorithms)) return *error;
  return lists;
}

}  // namespace comm_probe::nccl
