// What the program names as the source of a figure is something that its user can look up, never a
// row of our own notes. Every text that it can print stands in its file.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace comm_probe::test {
namespace {

TEST(Sources, AreNotOurNotes) {
  std::ifstream file(COMM_PROBE_BINARY, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string program = text.str();
  ASSERT_NE(program.find("vLLM v0.23.0 cuda_communicator.py"), std::string::npos)
      << "the texts are not in the file";
  for (const char* notes : {"golden G", "shared spec", "source document"}) {
    const std::size_t at = program.find(notes);
    EXPECT_EQ(at, std::string::npos)
        << notes << ": "
        << program.substr(at == std::string::npos ? 0 : at, at == std::string::npos ? 0 : 60);
  }
}

}  // namespace
}  // namespace comm_probe::test
