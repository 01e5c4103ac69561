#include "curve/node_names.h"

#include <algorithm>
#include <array>

#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

// Words before a number that name hardware, settings or repeats and no host.
constexpr std::array<std::string_view, 36> kNoHosts = {
    "gpu",  "gpus", "rank", "ranks", "run",  "iter",   "iters", "try",  "test",
    "size", "part", "cfg",  "np",    "nccl", "cuda",   "mlx",   "hdr",  "ndr",
    "edr",  "xdr",  "roce", "ib",    "eth",  "nvlink", "ring",  "tree", "pcie",
    "rtx",  "mtu",  "qp",   "day",   "step", "job",    "all",   "a",    "v"};
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLeastLetters = 3;  // of a name that stands alone: "h100" is no host

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "node12" -> "node"; empty where the word is no letters and digits, "-" and "." with a number
// last.
std::string stem_of(std::string_view word) {
  if (word.size() < 2 || word.size() > kLongestName || !is_letter(word.front()) ||
      !is_digit(word.back()))
    return {};
  for (const char c : word)
    if (!is_letter(c) && !is_digit(c) && c != '-') return {};
  while (is_digit(word.back())) word.remove_suffix(1);
  std::string stem(word);
  std::transform(stem.begin(), stem.end(), stem.begin(), lower);
  while (stem.ends_with('-')) stem.pop_back();
  return std::find(kNoHosts.begin(), kNoHosts.end(), stem) == kNoHosts.end() ? stem : "";
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// "node12-node37" is two names, "gpu-node-12" is one.
std::vector<std::string_view> names_in(std::string_view segment) {
  const auto parts = pieces_of(segment, '-');
  std::vector<std::string_view> names;
  for (const std::string_view part : parts)
    if (!stem_of(part).empty()) names.push_back(part);
  if (names.size() == 2 && stem_of(names[0]) == stem_of(names[1])) return names;
  if (!stem_of(segment).empty()) return {segment};
  return {};
}

std::string_view base_of(std::string_view path) {
  path = path.substr(path.find_last_of('/') == std::string_view::npos ? 0
                                                                      : path.find_last_of('/') + 1);
  for (const std::string_view ending : {".gz", ".zst", ".txt", ".log", ".out", ".json", ".err"})
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  return path;
}

}  // namespace

std::vector<std::string> nodes_of_file_name(const std::string& path) {
  std::vector<std::string> names;
  for (const std::string_view segment : pieces_of(base_of(path), '_'))
    for (const std::string_view name : names_in(segment))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  if (names.size() == 2 && stem_of(names[0]) == stem_of(names[1])) return names;
  std::erase_if(names,
                [](const std::string& name) { return stem_of(name).size() < kLeastLetters; });
  return names.size() == 1 ? names : std::vector<std::string>{};
}

std::vector<std::string> nodes_of(const Curve& curve) {
  std::vector<std::string> hosts;
  for (const Device& device : curve.devices)
    if (std::find(hosts.begin(), hosts.end(), device.host) == hosts.end() && hosts.size() < 16)
      hosts.push_back(device.host);
  if (!hosts.empty()) return hosts;
  hosts = nodes_of_file_name(curve.file);
  const int named = static_cast<int>(hosts.size());
  return curve.nodes && *curve.nodes != named ? std::vector<std::string>{} : hosts;
}

}  // namespace comm_probe::curve
