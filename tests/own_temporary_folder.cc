// testing::TempDir() is a folder of this process alone, gone when it ends: ctest runs the tests of
// one program at the same time, and a file in a shared place would be read by one while another
// writes it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace comm_probe::test {
namespace {

class OwnTemporaryFolder {
 public:
  OwnTemporaryFolder() {
    std::string path = std::filesystem::temp_directory_path() / "own-test-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path + "/";
    ::setenv("TEST_TMPDIR", path_.c_str(), 1);
  }
  ~OwnTemporaryFolder() {
    if (::getpid() != owner_) return;  // a child that ended by exit()
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
  OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;

 private:
  std::string path_;
  const pid_t owner_ = ::getpid();
};

const OwnTemporaryFolder kFolder;

}  // namespace
}  // namespace comm_probe::test
