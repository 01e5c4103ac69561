// Many, large and slow clients.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "run_binary.h"
#include "running_server.h"

namespace comm_probe::test {
namespace {

using Clock = std::chrono::steady_clock;

// Sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kMostMemory = std::size_t{1} << 30U;
#else
constexpr std::size_t kMostMemory = std::size_t{64} << 20U;
#endif

FormFile table() {
  std::stringstream text;
  text << std::ifstream(COMM_PROBE_SOURCE_DIR "/tests/inputs/h200x2/all_reduce.txt").rdbuf();
  return {"all_reduce.txt", text.str()};
}

TEST(ServeLoad, TakesAHundredUploadsAtOnce) {
  const RunningServer server;
  const FormFile file = table();
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i)
    clients.emplace_back([&] {
      const Answer answer = post(server.port(), {file});
      if (answer.status == 303 && get(server.port(), answer.header("Location")).status == 200)
        ++answered;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 100);
  EXPECT_LT(server.peak_memory(), kMostMemory);
}

constexpr std::size_t kMegabyte = 1000000;
constexpr int kMegabytes = 1000;  // 1 GB

// A form that says how long it is, or not; ends early where the server has closed.
Answer post_gigabyte(int port, bool is_chunked) {
  const Client client(port);
  const std::string begin =
      "--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"large.log\"\r\n\r\n";
  const std::string end = "\r\n" + form_of({table()});
  const std::string length =
      is_chunked
          ? "Transfer-Encoding: chunked"
          : fmt::format("Content-Length: {}", begin.size() + kMegabytes * kMegabyte + end.size());
  client.send(
      fmt::format("POST /doctor HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Type: multipart/form-data; boundary=xyz\r\n{}\r\n\r\n",
                  length));
  const auto send = [&](const std::string& bytes) {
    return client.send(is_chunked ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : bytes);
  };
  bool is_open = send(begin);
  const std::string block(kMegabyte, '\0');
  for (int i = 0; i < kMegabytes && is_open; ++i) is_open = send(block);
  if (is_open && send(end) && is_chunked) client.send("0\r\n\r\n");
  return parse_answer(client.rest());
}

TEST(ServeLoad, KeepsAGigabyteOutOfItsMemory) {
  const RunningServer server({"--limit", "2GiB"});
  const auto start = Clock::now();
  const Answer answer = post_gigabyte(server.port(), false);
  EXPECT_EQ(answer.status, 303) << answer.body;
  const Answer page = get(server.port(), answer.header("Location"));
  EXPECT_THAT(page.body, testing::HasSubstr("upload/all_reduce.txt"));
  EXPECT_LT(server.peak_memory(), kMostMemory);
  std::printf("1 GB taken and judged in %.1f s, at most %zu MB of memory\n",
              std::chrono::duration<double>(Clock::now() - start).count(),
              server.peak_memory() / kMegabyte);
}

TEST(ServeLoad, RefusesAGigabyteThatIsTooMuch) {
  const RunningServer server({"--limit", "100MB"});
  for (const bool is_chunked : {false, true})
    EXPECT_EQ(post_gigabyte(server.port(), is_chunked).status, 413) << is_chunked;
  EXPECT_LT(server.peak_memory(), kMostMemory);
  EXPECT_EQ(post(server.port(), {table()}).status, 303);
}

TEST(ServeLoad, LetsNobodyWaitForASlowClient) {
  const RunningServer server({"--idle", "1s"});
  const std::string request = post_of(form_of({table()}));
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(std::make_unique<Client>(server.port()));
    slow.back()->send(request.substr(0, i % 2 == 0 ? 20 : 300));  // within the header, the body
  }
  const auto start = Clock::now();
  EXPECT_EQ(post(server.port(), {table()}).status, 303);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  for (const auto& client : slow) EXPECT_EQ(parse_answer(client->rest()).status, 408);
}

// One that sends a byte now and then goes on; one that dawdles with its header does not.
TEST(ServeLoad, GivesTheHeaderItsTimeOnce) {
  const RunningServer server({"--idle", "1s"});
  const std::string request = post_of(form_of({table()}));
  const std::size_t body = request.find("\r\n\r\n") + 4;
  const Client dawdler(server.port());
  const Client patient(server.port());
  patient.send(request.substr(0, body));
  for (std::size_t i = 0; i < 8; ++i) {
    dawdler.send(request.substr(i, 1));
    patient.send(request.substr(body + i, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  patient.send(request.substr(body + 8));
  EXPECT_EQ(parse_answer(patient.rest()).status, 303);
  EXPECT_EQ(parse_answer(dawdler.rest()).status, 408);
}

TEST(ServeLoad, SurvivesClientsThatGoAway) {
  const RunningServer server;
  const std::string request = post_of(form_of({table()}));
  for (std::size_t cut = 1; cut < request.size(); cut += request.size() / 97) {
    const Client client(server.port());
    client.send(request.substr(0, cut));
  }
  {
    const Client client(server.port());
    client.send(request);
  }  // does not wait for the answer
  EXPECT_EQ(post(server.port(), {table()}).status, 303);
}

std::string large_form(std::size_t bytes) {
  const std::string line = "node1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  std::string text;
  while (text.size() < bytes) text += line;
  return form_of({{"rank0.log", text}});
}

bool wait_for_children(const RunningServer& server, std::size_t count) {
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (server.children().size() != count && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return server.children().size() == count;
}

std::size_t files_below(const std::string& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files += entry.is_regular_file() ? 1 : 0;
  return files;
}

// Stopped, so that it would not end by itself.
TEST(ServeLoad, EndsTheDoctorOfAClientThatGoesAway) {
  const RunningServer server;
  const std::size_t before = server.children().size();
  {
    const Client client(server.port());
    ASSERT_TRUE(client.send(post_of(large_form(20 * kMegabyte))));
    ASSERT_TRUE(wait_for_children(server, before + 1));
    ::kill(server.children().back(), SIGSTOP);
  }
  EXPECT_TRUE(wait_for_children(server, before));
  EXPECT_EQ(files_below(server.temporary_folder()), 0U);
  EXPECT_EQ(post(server.port(), {table()}).status, 303);
}

TEST(ServeLoad, BoundsAllUploadsTogether) {
  const RunningServer server({"--limit", "1MB", "--total", "1MB"});
  const std::string half = large_form(600000);
  auto first = std::make_unique<Client>(server.port());
  const std::string request = post_of(half);
  first->send(request.substr(0, request.size() - 1000));
  for (int i = 0; i < 1000 && files_below(server.temporary_folder()) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Answer refused = ask(server.port(), request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, testing::HasSubstr("--total")) << refused.body;
  EXPECT_EQ(post(server.port(), {table()}).status, 303);  // there is room for a small one
  first.reset();
  int status = 503;
  for (int i = 0; i < 100 && status == 503; ++i) status = ask(server.port(), request).status;
  EXPECT_EQ(status, 303);
}

TEST(ServeLoad, RefusesToStartWhereItWouldRefuseEverything) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"--limit", "0"}, Words{"--idle", "0s"}, Words{"--patience", "0s"},
        Words{"--limit", "2GiB", "--total", "1GiB"}}) {
    Words all = {"serve", "--port", "0"};
    all.insert(all.end(), words.begin(), words.end());
    const BinaryRun run = run_binary(all);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
