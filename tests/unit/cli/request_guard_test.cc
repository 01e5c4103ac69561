// Pages from elsewhere cannot post, by whatever name they find us.
#include "cli/request_guard.h"

#include <gtest/gtest.h>

namespace comm_probe::cli {
namespace {

TEST(OurName, IsAnAddressOrLocalhost) {
  for (const char* ours : {"127.0.0.1:8642", "127.0.0.1", "localhost:9000", "LocalHost",
                           "[::1]:8642", "[::1]", "10.0.0.7:8642"})
    EXPECT_TRUE(is_our_name(ours, "")) << ours;
  for (const char* theirs :
       {"", ":", "evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.nip.io",
        "127.0.0.1:8642@evil.example", "127.0.0.1:x", "[::1", "0x7f000001", "node7"})
    EXPECT_FALSE(is_our_name(theirs, "")) << theirs;
}

TEST(OurName, IsThatOfTheMachineWhereOthersAreServed) {
  EXPECT_TRUE(is_our_name("node7:8642", "node7"));
  EXPECT_TRUE(is_our_name("Node7.cluster:8642", "node7.cluster"));
  EXPECT_TRUE(is_our_name("node7:8642", "node7.cluster"));
  EXPECT_FALSE(is_our_name("node7.evil.example:8642", "node7"));
  EXPECT_FALSE(is_our_name(":8642", "node7.cluster"));
}

TEST(OurPage, IsOfTheSameOrigin) {
  constexpr const char* kHost = "127.0.0.1:8642";
  EXPECT_TRUE(is_our_page({.host = kHost}));  // curl
  EXPECT_TRUE(is_our_page({.host = kHost, .origin = "http://127.0.0.1:8642"}));
  EXPECT_TRUE(
      is_our_page({.host = kHost, .origin = "http://127.0.0.1:8642", .fetch_site = "same-origin"}));
  for (const char* theirs : {"http://evil.example", "null", "", "http://127.0.0.1:3000",
                             "https://127.0.0.1:8642", "http://localhost:8642"})
    EXPECT_FALSE(is_our_page({.host = kHost, .origin = theirs})) << theirs;
  for (const char* site : {"cross-site", "same-site", ""})
    EXPECT_FALSE(is_our_page({.host = kHost, .fetch_site = site})) << site;
}

}  // namespace
}  // namespace comm_probe::cli
