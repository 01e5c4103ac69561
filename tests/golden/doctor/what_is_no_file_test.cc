// What lies in a pile and is no file: pipes, sockets, devices, standard input, a file twice. None
// of them makes doctor wait, each costs one line, and the others are still judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

// The members of a stored zip are plain text in it: they pass for one log of several files.
class Zips : public Pile {
 protected:
  std::string zip_of(const std::string& text) {
    const auto number = [](std::uint32_t value, int bytes) {
      std::string raw;
      for (int i = 0; i < bytes; ++i) raw += static_cast<char>(value >> (8 * i) & 0xff);
      return raw;
    };
    const auto size = static_cast<std::uint32_t>(text.size());
    return "PK\x03\x04" + number(10, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
           number(0, 4) + number(size, 4) + number(size, 4) + number(8, 2) + number(0, 2) +
           "nccl.log" + text;
  }
};

TEST_F(Zips, AreNamedAndNotReadAsOneText) {
  const std::string zip = put("pile.zip", zip_of(tcp_log()));
  const BinaryRun alone = run_binary({"doctor", zip});
  EXPECT_EQ(alone.status, 2) << alone;
  EXPECT_THAT(alone.err, HasSubstr("a zip archive")) << alone;
  EXPECT_THAT(alone.err, HasSubstr("unpack it first")) << alone;
  EXPECT_THAT(alone.out, ::testing::Not(HasSubstr("nothing wrong"))) << alone;
  // The others are still judged, and it is said that this one was not.
  const std::string log = put("table.txt", table(16, 2, 390));
  const BinaryRun beside = run_binary({"doctor", zip, log});
  EXPECT_EQ(beside.status, 5) << beside;
  EXPECT_THAT(beside.out, HasSubstr("pile.zip: a zip")) << beside;
}

constexpr std::chrono::milliseconds kAtOnce = std::chrono::seconds(15);

class NoFile : public Pile {
 protected:
  std::string pipe(const std::string& name) {
    const std::string path = folder() + "/" + name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  std::string socket(const std::string& name) {
    const std::string path = folder() + "/" + name;
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof address.sun_path);
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(descriptor);
    return path;
  }
};

TEST_F(NoFile, IsNamedOnceAndTheOthersAreJudged) {
  const std::string log = put("nccl.log", tcp_log());
  const std::vector<std::pair<std::string, std::string>> things = {
      {pipe("p"), "a named pipe"}, {socket("s"), "a socket"}, {"/dev/zero", "a device"}};
  for (const auto& [path, kind] : things) {
    const BinaryRun run =
        run_binary({"doctor", path, log, "--json"}, BinarySurroundings{.limit = kAtOnce});
    ASSERT_FALSE(run.timed_out) << run;
    const json document = json::parse(run.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << run;
    EXPECT_EQ(document["findings"][0]["id"], "log.tcp-fallback");
    std::size_t said = 0;
    for (const json& caveat : document["caveats"])
      said += caveat["missing"].get<std::string>().find(path + ": is " + kind) == 0 ? 1 : 0;
    EXPECT_EQ(said, 1u) << document["caveats"].dump(1);
    const BinaryRun alone = run_binary({"doctor", path}, BinarySurroundings{.limit = kAtOnce});
    EXPECT_EQ(alone.status, 2) << alone;
    EXPECT_EQ(lines_of(alone.err).size(), 1u) << alone;
    EXPECT_THAT(alone.err, HasSubstr("is " + kind + ", expected a file or a folder"));
  }
}

TEST_F(NoFile, BelowAFolderToo) {
  put("nccl.log", tcp_log());
  pipe("p");
  socket("s");
  const BinaryRun run =
      run_binary({"doctor", folder(), "--json"}, BinarySurroundings{.limit = kAtOnce});
  ASSERT_FALSE(run.timed_out) << run;
  EXPECT_THAT(run.out, HasSubstr("is a named pipe"));
  EXPECT_THAT(run.out, HasSubstr("is a socket"));
  EXPECT_THAT(run.out, HasSubstr("log.tcp-fallback"));
  const BinaryRun collected =
      run_binary({"doctor", "--collect", "-o", folder() + "/b.tar.zst", folder() + "/p"},
                 BinarySurroundings{.limit = std::chrono::seconds(60)});
  EXPECT_FALSE(collected.timed_out) << collected;
}

// A table on standard input or through the shell's <(...) can be read only once.
TEST_F(NoFile, AStreamIsReadAsAFileIs) {
  const std::string log = put("nccl.log", tcp_log());
  const std::string slow = put("two.txt", table(4, 2, 1.2));
  const std::string fast = put("one.txt", table(2, 1, 370));
  const json whole = told({log, slow, fast});
  const std::vector<std::string> lines = {
      "cat " + slow + " | \"$COMM_PROBE\" doctor - " + log + " " + fast + " --json",
      "cat " + slow + " | \"$COMM_PROBE\" doctor /dev/stdin " + log + " " + fast + " --json",
      "bash -c '\"$COMM_PROBE\" doctor <(cat " + slow + ") " + log + " " + fast + " --json'"};
  for (const std::string& line : lines) {
    const BinaryRun run = run_shell("export COMM_PROBE; " + line);
    const json document = json::parse(run.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << run;
    EXPECT_EQ(document["result"]["gap"]["observed_GBps"], whole["result"]["gap"]["observed_GBps"]);
    EXPECT_EQ(document["findings"].size(), whole["findings"].size()) << run;
    EXPECT_EQ(run.out.find("/stream"), run.out.npos) << "the temporary file is nobody's business";
  }
  const BinaryRun named = run_shell("cat " + slow + " | \"$COMM_PROBE\" doctor - " + log);
  EXPECT_THAT(named.out, testing::Not(HasSubstr("/stream"))) << named;
  const BinaryRun none = run_shell("echo hello | \"$COMM_PROBE\" doctor -");
  EXPECT_EQ(none.status, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("standard input"));
}

// One file by two paths, a link, a hard link.
TEST_F(NoFile, AFileGivenTwiceCountsOnce) {
  const std::string run = put("run.txt", table(8, 1, 400, 17));
  fs::create_symlink(run, folder() + "/link.txt");
  fs::create_hard_link(run, folder() + "/hard.txt");
  for (const auto& paths : {std::vector{run, run}, std::vector{run, folder() + "/./run.txt"},
                            std::vector{folder() + "/link.txt", run}, std::vector{folder()},
                            std::vector{folder(), folder() + "/hard.txt"}}) {
    const json document = told(paths);
    EXPECT_EQ(document["inputs"].size(), 1u) << document["inputs"].dump(1);
    EXPECT_EQ(document["result"]["files"], 1);
  }
}

}  // namespace
}  // namespace comm_probe::test
