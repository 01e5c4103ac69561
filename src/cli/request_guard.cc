#include "cli/request_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace comm_probe::cli {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Of "name:port", "[address]:port" or either without a port; empty where it is none of them.
std::string name_of(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == host.npos ? 0 : bracket);
  if (colon != host.npos && !is_digits(host.substr(colon + 1))) return {};
  return lower(host.substr(0, colon));
}

bool is_address(const std::string& name) {
  in6_addr ignored = {};
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &ignored) == 1;
  return ::inet_pton(AF_INET, name.c_str(), &ignored) == 1;
}

}  // namespace

bool is_our_name(std::string_view host, std::string_view machine) {
  const std::string name = name_of(host);
  if (name == "localhost" || is_address(name)) return true;
  const std::string own = lower(machine);
  return !own.empty() && (name == own || (!name.empty() && own.starts_with(name + ".")));
}

bool is_our_page(const Sender& sender) {
  if (sender.fetch_site && *sender.fetch_site != "same-origin" && *sender.fetch_site != "none")
    return false;
  return !sender.origin || lower(*sender.origin) == "http://" + lower(sender.host);
}

}  // namespace comm_probe::cli
