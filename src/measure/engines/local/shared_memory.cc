#include "measure/engines/local/shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/units.h"

namespace comm_probe::measure::local {
namespace {

core::Result<std::byte*> map_pages(std::size_t bytes, int sharing, bool huge_pages) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
  if (at == MAP_FAILED)
    return core::missing_error(
        fmt::format("cannot map {} of memory: {}",
                    core::format_bytes(core::Bytes::of(std::uint64_t{bytes})),
                    std::strerror(errno)),
        "use fewer ranks or a smaller -e");
  if (huge_pages) ::madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(at);
}

}  // namespace

core::Result<SharedMemory> SharedMemory::map(std::size_t bytes, bool huge_pages) {
  auto pages = map_pages(bytes, MAP_SHARED, huge_pages);
  if (!pages) return pages.error();
  return SharedMemory(*pages, bytes);
}
SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

core::Result<PrivateMemory> PrivateMemory::map(std::size_t bytes) {
  const std::size_t size = bytes == 0 ? 1 : bytes;
  auto pages = map_pages(size, MAP_PRIVATE, true);
  if (!pages) return pages.error();
  return PrivateMemory(*pages, size);
}
PrivateMemory::PrivateMemory(PrivateMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
PrivateMemory::~PrivateMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace comm_probe::measure::local
