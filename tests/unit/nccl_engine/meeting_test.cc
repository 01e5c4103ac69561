#include "measure/engines/nccl/meeting.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace comm_probe::measure::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Meeting::Place place_of(const LocalListener& listener, int rank, int size, int patience = 10) {
  return {.rank = rank,
          .size = size,
          .address = "127.0.0.1",
          .port = listener.port,
          .listening = rank == 0 ? listener.socket : -1,
          .patience = std::chrono::seconds(patience)};
}

int connect_to(int port) {
  const int number = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(number, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  return number;
}

TEST(Meeting, TheFirstGetsAllAndIsHeardByAll) {
  const auto listener = listen_locally();
  ASSERT_TRUE(listener.ok());
  std::vector<std::string> heard(3);
  const auto take_part = [&](int rank) {
    const auto meeting = Meeting::over_tcp(place_of(*listener, rank, 3));
    ASSERT_TRUE(meeting.ok()) << meeting.error().one_line();
    const auto all = (*meeting)->gather("rank " + std::to_string(rank));
    ASSERT_TRUE(all.ok());
    if (rank == 0) {
      EXPECT_THAT(*all, ElementsAre("rank 0", "rank 1", "rank 2"));
    }
    ASSERT_TRUE((*meeting)->barrier().ok());
    heard[static_cast<std::size_t>(rank)] = *(*meeting)->broadcast(rank == 0 ? "id" : "not mine");
  };
  std::thread second(take_part, 1), third(take_part, 2);
  take_part(0);
  second.join();
  third.join();
  EXPECT_THAT(heard, ElementsAre("id", "id", "id"));
}

TEST(Meeting, AStrangerIsNotTakenForARank) {
  const auto listener = listen_locally();
  ASSERT_TRUE(listener.ok());
  const int stranger = connect_to(listener->port);
  const std::string words = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_GT(::send(stranger, words.data(), words.size(), 0), 0);
  std::thread other([&] {
    const auto meeting = Meeting::over_tcp(place_of(*listener, 1, 2));
    ASSERT_TRUE(meeting.ok());
    EXPECT_EQ(*(*meeting)->broadcast(""), "welcome");
  });
  const auto meeting = Meeting::over_tcp(place_of(*listener, 0, 2));
  ASSERT_TRUE(meeting.ok());
  EXPECT_TRUE((*meeting)->broadcast("welcome").ok());
  other.join();
  ::close(stranger);
}

TEST(Meeting, WhoDoesNotComeIsNamed) {
  const auto listener = listen_locally();
  ASSERT_TRUE(listener.ok());
  std::thread other([&] { (void)Meeting::over_tcp(place_of(*listener, 2, 4)).ok(); });
  const auto meeting = Meeting::over_tcp(place_of(*listener, 0, 4, 1));
  other.join();
  ASSERT_FALSE(meeting.ok());
  EXPECT_THAT(meeting.error().one_line(), HasSubstr("rank 1, 3 of 4 did not come within 1 s"));
}

TEST(Meeting, WhoLeavesIsNamed) {
  const auto listener = listen_locally();
  ASSERT_TRUE(listener.ok());
  std::thread other([&] { (void)Meeting::over_tcp(place_of(*listener, 1, 2)).ok(); });
  const auto meeting = Meeting::over_tcp(place_of(*listener, 0, 2));
  other.join();
  ASSERT_TRUE(meeting.ok());
  const auto all = (*meeting)->gather("");
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("rank 1 has left"));
}

TEST(Meeting, NobodyListensThere) {
  const auto listener = listen_locally();
  ASSERT_TRUE(listener.ok());
  ::close(listener->socket);
  const auto meeting = Meeting::over_tcp(place_of(*listener, 1, 2, 0));
  ASSERT_FALSE(meeting.ok());
  EXPECT_THAT(meeting.error().message, HasSubstr("cannot reach rank 0 at 127.0.0.1"));
}

TEST(Meeting, AloneHearsItself) {
  const auto meeting = Meeting::over_tcp({});
  ASSERT_TRUE(meeting.ok());
  EXPECT_THAT(*(*meeting)->gather("x"), ElementsAre("x"));
}

}  // namespace
}  // namespace comm_probe::measure::nccl
