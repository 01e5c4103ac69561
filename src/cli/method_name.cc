#include "cli/method_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

constexpr std::size_t kMostMethods = 16;

template <class Values, class Name>
std::vector<std::string_view> names_of(const Values& values, Name name) {
  std::vector<std::string_view> names;
  for (const auto value : values) names.emplace_back(name(value));
  return names;
}

core::Result<model::Method> parse_method(const std::string& word, model::Protocol usual) {
  const std::size_t slash = word.find('/');
  const auto algorithm = parse_algorithm(word.substr(0, slash));
  if (!algorithm) return algorithm.error();
  if (slash == std::string::npos) return model::Method{*algorithm, usual};
  const auto protocol = parse_protocol(word.substr(slash + 1));
  if (!protocol) return protocol.error();
  return model::Method{*algorithm, *protocol};
}

}  // namespace

std::string method_name(model::Algorithm algorithm, model::Protocol protocol) {
  std::string name = algorithm_name(algorithm);
  if (protocol != model::Protocol::kSimple) name += std::string("/") + protocol_name(protocol);
  return name;
}

core::Result<model::Algorithm> parse_algorithm(const std::string& name) {
  if (const auto algorithm = model::algorithm_from_name(name)) return *algorithm;
  return core::input_error(core::unknown_word(
      "algorithm", name, names_of(model::kAllAlgorithms, model::algorithm_name)));
}

core::Result<model::Protocol> parse_protocol(const std::string& name) {
  if (const auto protocol = model::protocol_from_name(name)) return *protocol;
  return core::input_error(
      core::unknown_word("protocol", name, names_of(model::kAllProtocols, model::protocol_name)));
}

core::Result<std::vector<model::Method>> parse_methods(const std::string& list,
                                                       model::Protocol usual) {
  std::vector<model::Method> methods;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    const auto method = parse_method(list.substr(start, comma - start), usual);
    if (!method) return method.error();
    const auto same = [&](const model::Method& known) {
      return known.algorithm == method->algorithm && known.protocol == method->protocol;
    };
    if (std::none_of(methods.begin(), methods.end(), same)) methods.push_back(*method);
    start = comma + 1;
  }
  if (methods.size() > kMostMethods)
    return core::input_error(
        fmt::format("{} algorithms are more than {} to compare", methods.size(), kMostMethods));
  return methods;
}

}  // namespace comm_probe::cli
