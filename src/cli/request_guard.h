// Which requests come from a person in front of our own page. A browser names the page that sends
// (Origin, Sec-Fetch-Site) and the name under which it found us (Host); a page from elsewhere can
// change none of them.
//
//   is_our_name("127.0.0.1:8642", {})        // true
//   is_our_name("evil.example:8642", {})     // false: DNS rebinding
#pragma once

#include <optional>
#include <string_view>

namespace comm_probe::cli {

// Addresses and "localhost" are ours, and the machine's own name where it is given: nobody else can
// let these point here.
bool is_our_name(std::string_view host, std::string_view machine);

struct Sender {
  std::string_view host = {};
  std::optional<std::string_view> origin = {};
  std::optional<std::string_view> fetch_site = {};  // Sec-Fetch-Site
};
// What is not sent by a browser (curl) names no origin.
bool is_our_page(const Sender& sender);

}  // namespace comm_probe::cli
