// Records that cross to another process come back as they were; bytes that end early are refused.
#include "core/packed.h"

#include <gtest/gtest.h>

#include "core/packed_caveat.h"

namespace comm_probe::core {
namespace {

struct Leaf {
  int number = 0;
  std::string text = {};
};
struct Tree {
  std::vector<Leaf> leaves = {};
  std::map<int, std::string> names = {};
  std::optional<double> value = {};
  std::optional<Error> error = {};
  std::vector<std::shared_ptr<const std::vector<int>>> lists = {};
  std::vector<std::uint64_t> plain = {};
};
template <class Archive>
void pack_fields(Archive& archive, Leaf& leaf) {
  archive(leaf.number, leaf.text);
}
template <class Archive>
void pack_fields(Archive& archive, Tree& tree) {
  archive(tree.leaves, tree.names, tree.value, tree.error, tree.lists, tree.plain);
}

std::string packed_tree() {
  const auto list = std::make_shared<const std::vector<int>>(std::vector{5, 6});
  Tree tree;
  tree.leaves = {{1, "one"}, {2, std::string("t\0wo", 4)}};
  tree.names = {{3, "three"}, {-4, ""}};
  tree.value = 0.5;
  tree.error = input_error("cut", "copy it again");
  tree.error->where = {"rank_0", std::nullopt, 17};
  tree.lists = {list, nullptr, list};
  tree.plain = {1, 2, 3};
  Packer packer;
  packer(tree);
  return packer.bytes();
}

TEST(Packed, ComesBackAsItWas) {
  const std::string bytes = packed_tree();
  Tree tree;
  Unpacker unpacker(bytes);
  unpacker(tree);
  ASSERT_TRUE(unpacker.ok());
  ASSERT_EQ(tree.leaves.size(), 2U);
  EXPECT_EQ(tree.leaves[1].text, std::string("t\0wo", 4));
  EXPECT_EQ(tree.names, (std::map<int, std::string>{{3, "three"}, {-4, ""}}));
  EXPECT_EQ(tree.value, 0.5);
  ASSERT_TRUE(tree.error.has_value());
  EXPECT_EQ(tree.error->one_line(), "rank_0: offset 17: cut; copy it again");
  ASSERT_EQ(tree.lists.size(), 3U);
  EXPECT_EQ(*tree.lists[0], (std::vector{5, 6}));
  EXPECT_EQ(tree.lists[0], tree.lists[2]);  // one object still
  EXPECT_EQ(tree.lists[1], nullptr);
  EXPECT_EQ(tree.plain, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(Packed, EveryCutIsRefused) {
  const std::string bytes = packed_tree();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Tree tree;
    Unpacker unpacker(std::string_view(bytes).substr(0, size));
    unpacker(tree);
    EXPECT_FALSE(unpacker.ok()) << size;
  }
}

// Whatever the bytes say, no more is asked for than they can hold.
TEST(Packed, WrongCountsAreRefused) {
  const std::string bytes = packed_tree();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x7f);
    Tree tree;
    Unpacker unpacker(wrong);
    unpacker(tree);
    EXPECT_LE(tree.leaves.size(), bytes.size());
  }
}

TEST(Packed, AByteThatIsNoBoolIsRefused) {
  Packer packer;
  std::optional<int> value = 7;
  packer(value);
  std::string bytes = packer.bytes();
  bytes[0] = 126;
  Unpacker unpacker(bytes);
  unpacker(value);
  EXPECT_FALSE(unpacker.ok());
}

}  // namespace
}  // namespace comm_probe::core
