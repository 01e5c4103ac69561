// A pile that somebody packed: a tar with gzip, a tar in a tar, and what is no whole tar.
#include <fmt/format.h>
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

// A name that comes twice is the later file, as tar has it; a file called as a folder loses nobody.
TEST_F(PackedPile, NamesThatClashAreAllRead) {
  put("first/a", "nothing\n");
  put("second/a/b.log", tcp_log());
  const std::string tar =
      "cd " + folder() + " && tar -cf clash.tar -C first a && tar -rf clash.tar -C second a/b.log";
  ASSERT_EQ(run_shell(tar).status, 0);
  const json document = told({folder() + "/clash.tar"});
  EXPECT_FALSE(document["findings"].empty());
  EXPECT_THAT(document.dump(), HasSubstr("clash.tar/a/b.log"));
  EXPECT_THAT(document["caveats"].dump(), testing::Not(HasSubstr("could be written")));
  put("third/b.log", "old\n");
  const std::string again = "cd " + folder() +
                            " && tar -cf twice.tar -C third b.log && cp second/a/b.log third && "
                            "tar -rf twice.tar -C third b.log";
  ASSERT_EQ(run_shell(again).status, 0);
  EXPECT_FALSE(told({folder() + "/twice.tar"})["findings"].empty());
}

// What was left out is said where nothing else was found either.
TEST_F(PackedPile, ALimitIsSaid) {
  core::Archive many;
  for (int i = 0; i < 20003; ++i) many.add_file(fmt::format("many/f{}", i), "");
  put("many.tar", many.tar());
  const BinaryRun run = run_binary({"doctor", folder() + "/many.tar"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("3 of the 20003 files of"));
  EXPECT_THAT(run.err, HasSubstr("left out"));
  put("pile/nccl.log", tcp_log());
  std::string nest = "cd " + folder() + " && tar -cf t0.tar pile";
  for (int i = 0; i < 5; ++i) nest += fmt::format(" && tar -cf t{}.tar t{}.tar", i + 1, i);
  ASSERT_EQ(run_shell(nest).status, 0);
  EXPECT_FALSE(told({folder() + "/t3.tar"})["findings"].empty());
  const BinaryRun deep = run_binary({"doctor", folder() + "/t5.tar"});
  EXPECT_EQ(deep.status, 2) << deep;
  EXPECT_THAT(deep.err, HasSubstr("a tar within 4 others"));
}

// Millions of equal lines cost little, and what stands behind them is read, with its line.
TEST_F(PackedPile, AHoleOfEqualLines) {
  put("hole.log", std::string(400'000, '\n') + tcp_log());
  const json document = told({folder() + "/hole.log"});
  EXPECT_EQ(document["inputs"][0]["kind"], "nccl-log");
  EXPECT_THAT(document.dump(), HasSubstr("400005"));  // "Using network Socket"
}

// Packed in a way that is not read: said, not passed over.
TEST_F(PackedPile, WhatIsNotUnpackedIsNamed) {
  using namespace std::string_literals;
  for (const auto& [name, magic] :
       {std::pair("x.tar.xz", "\xfd\x37zXZ\0\0\4"s), std::pair("x.tar.bz2", "BZh91AY&SY"s),
        std::pair("y.tar.bz2", "BZh11AY&SY"s), std::pair("x.tar.lz4", "\4\"M\x18"s)}) {
    const BinaryRun run = run_binary({"doctor", put(name, magic + std::string(400, '\x91'))});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr("unpacks it")) << run;
    EXPECT_THAT(run.err, testing::Not(HasSubstr("no artifact"))) << run;
  }
  const BinaryRun text = run_binary({"doctor", put("BZh.txt", "BZhang wrote this\n")});
  EXPECT_THAT(text.err, testing::Not(HasSubstr("bzip2"))) << text;
}

// A folder sys/ or a manifest.json beside logs hides none of them.
TEST_F(PackedPile, AFolderOrAManifestOfAnotherToolHidesNothing) {
  put("pile/logs/nccl.log", tcp_log());
  ASSERT_EQ(run_shell("cd " + folder() + "/pile && tar -czf ../plain.tgz .").status, 0);
  const json plain = told({folder() + "/plain.tgz"});
  ASSERT_FALSE(plain["findings"].empty());
  for (const auto& [name, text] :
       {std::pair("sys/class/net/eth0/mtu", "1500"), std::pair("sys/notes.txt", "hello\n"),
        std::pair("manifest.json", "[{\"Config\": \"a.json\"}]"),
        std::pair("commands/readme.txt", "none\n")}) {
    put(std::string("pile/") + name, text);
    ASSERT_EQ(run_shell("cd " + folder() + "/pile && tar -czf ../more.tgz .").status, 0);
    const json more = told({folder() + "/more.tgz"});
    ASSERT_FALSE(more["findings"].empty()) << name << more;
    EXPECT_EQ(more["findings"][0]["id"], plain["findings"][0]["id"]) << name;
    EXPECT_THAT(more["inputs"].dump(), HasSubstr("more.tgz/logs/nccl.log")) << name;
    fs::remove(folder() + "/pile/" + name);
  }
}

json logs_of(const json& document) {
  json logs = json::array();
  for (const json& input : document["inputs"])
    if (input["kind"].get<std::string>().find("nccl-log") != std::string::npos)
      logs.push_back(input);
  return logs;
}

// The archive beside what was unpacked from it, and copies of either.
TEST_F(PackedPile, TheSameContentCountsOnce) {
  const std::string tgz = packed("ticket.tgz");
  const std::string more =
      "cd " + folder() +
      " && cp ticket.tgz copy.tgz && mkdir ticket && tar -xf copy.tgz -C ticket"
      " && gzip -k pile/2n.txt";
  ASSERT_EQ(run_shell(more).status, 0);
  const json once = told({folder() + "/pile"});
  ASSERT_EQ(once["inputs"].size(), 2);  // the table stands there twice
  EXPECT_EQ(told({tgz, folder() + "/pile"})["inputs"], once["inputs"]);
  EXPECT_EQ(told({tgz, folder() + "/copy.tgz"})["inputs"].size(), 2);
  EXPECT_EQ(told({tgz, folder() + "/ticket"})["inputs"].size(), 2);
}

// Of two nodes the same command may print the same bytes; what was changed is another file.
TEST_F(PackedPile, EqualBytesOfTwoNodesAreTwo) {
  put("node01/nccl.log", tcp_log());
  put("node02/nccl.log", tcp_log());
  EXPECT_EQ(logs_of(told({folder()})).size(), 2);
  const std::string tar =
      "cd " + folder() + " && tar -czf node01.tgz -C node01 nccl.log && rm -r node01";
  ASSERT_EQ(run_shell(tar).status, 0);
  EXPECT_EQ(logs_of(told({folder()})).size(), 2);
  put("nccl.log", tcp_log() + "and more\n");
  EXPECT_EQ(logs_of(told({folder()})).size(), 3);
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
