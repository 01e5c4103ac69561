// A pile that somebody packed: a tar with gzip, a tar in a tar, and what is no whole tar.
#include <gmock/gmock.h>

#include "core/archive.h"
#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class PackedPile : public Pile {
 protected:
  // `tar` and `gzip` of the system, as people call them.
  std::string packed(const std::string& name) {
    put("pile/logs/nccl.log", tcp_log());
    put("pile/2n.txt", table(4, 2, 1.2));
    const BinaryRun run = run_shell("cd " + folder() + " && tar -czf " + name + " pile");
    EXPECT_EQ(run.status, 0) << run;
    return folder() + "/" + name;
  }
};

TEST_F(PackedPile, IsReadLikeTheFolder) {
  const std::string tgz = packed("ticket.tgz");
  const json of_folder = told({folder() + "/pile"});
  const json of_tar = told({tgz});
  ASSERT_FALSE(of_folder["findings"].empty());
  ASSERT_EQ(of_tar["findings"].size(), of_folder["findings"].size());
  for (std::size_t i = 0; i < of_folder["findings"].size(); ++i)
    EXPECT_EQ(of_tar["findings"][i]["id"], of_folder["findings"][i]["id"]);
  EXPECT_THAT(of_tar.dump(), HasSubstr(tgz + "/pile/logs/nccl.log"));
}

TEST_F(PackedPile, ATarOfTars) {
  packed("inner.tar.gz");
  ASSERT_EQ(run_shell("cd " + folder() + " && tar -cf outer.tar inner.tar.gz").status, 0);
  const json document = told({folder() + "/outer.tar"});
  ASSERT_FALSE(document["findings"].empty());
  EXPECT_THAT(document.dump(), HasSubstr("outer.tar/inner.tar.gz/pile/logs/nccl.log"));
}

TEST_F(PackedPile, OfACutOneTheBeginningIsUsed) {
  core::Archive archive;
  archive.add_file("a.log", tcp_log());
  archive.add_file("z.txt", std::string(4096, 'z'));
  put("cut.tar", archive.tar().substr(0, archive.tar().size() - 2048));
  const BinaryRun run = run_binary({"doctor", "--json", folder() + "/cut.tar"});
  EXPECT_EQ(run.status, 1) << run;  // what the log says is found
  const json document = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << run;
  bool is_said = false;
  for (const json& caveat : document["caveats"])
    is_said = is_said || caveat["missing"].get<std::string>().find("cut.tar") != std::string::npos;
  EXPECT_TRUE(is_said) << document["caveats"];
}

// Names that lead out of the folder stay inside; links are not followed.
TEST_F(PackedPile, NamesThatLeadOutStayInside) {
  core::Archive archive;
  archive.add_file("logs/a.log", tcp_log());
  std::string tar = archive.tar();
  const std::string name = "logs/a.log", out = "../../../e";
  ASSERT_EQ(name.size(), out.size());
  const std::size_t at = tar.find(name);
  ASSERT_NE(at, std::string::npos);
  tar.replace(at, name.size(), out);
  unsigned sum = 0;  // of the header, its own field as blanks
  const std::size_t header = at;
  for (std::size_t i = 0; i < 512; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[header + i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  tar.replace(header + 148, 6, digits);
  const std::string path = put("evil.tar", tar);
  const json document = told({path});
  EXPECT_THAT(document.dump(), HasSubstr("evil.tar/e"));
  EXPECT_FALSE(fs::exists(fs::path(folder()).parent_path().parent_path() / "e"));
}

TEST_F(PackedPile, GarbageIsOneLine) {
  const std::string whole = [] {
    core::Archive archive;
    archive.add_file("x.log", "hello\n");
    return archive.tar();
  }();
  put("half.tar", whole.substr(0, 700));
  put("then.tar", whole.substr(0, 1024) + std::string(2048, 'x'));
  for (const char* name : {"half.tar", "then.tar"}) {
    const BinaryRun run = run_binary({"doctor", folder() + "/" + name});
    EXPECT_NE(run.status, 0) << run;
    EXPECT_EQ(run.signal, 0) << run;
  }
}

}  // namespace
}  // namespace comm_probe::test
