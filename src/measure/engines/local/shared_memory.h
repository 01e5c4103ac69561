// Memory that a process shares with the children it forks: an anonymous shared mapping. It has no
// name, so nothing is left behind however the processes end; pages cost nothing until touched.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace comm_probe::measure::local {

class SharedMemory {
 public:
  // Zeroed. Fails where the system has not that much address space or memory.
  // `huge_pages` asks for them (a wish: the kernel may have none).
  static core::Result<SharedMemory> map(std::size_t bytes, bool huge_pages);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  SharedMemory(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A rank's own memory (private pages, huge where the kernel gives them), for the user's buffers.
class PrivateMemory {
 public:
  static core::Result<PrivateMemory> map(std::size_t bytes);
  PrivateMemory(PrivateMemory&& other) noexcept;
  PrivateMemory& operator=(PrivateMemory&&) = delete;
  ~PrivateMemory();
  std::byte* data() const { return data_; }

 private:
  PrivateMemory(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace comm_probe::measure::local
