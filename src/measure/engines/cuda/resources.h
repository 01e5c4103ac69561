// What a program holds of a GPU, given back when it goes out of scope: the primary context of a
// device, memory, streams, events, modules, captured graphs. Everything but Context needs a context
// that is current on the calling thread (Context::bind); fails as the driver says.
//
//   const auto context = Context::open(0);
//   const auto buffer = DeviceBuffer::make(64_MiB);
//   const auto stream = Stream::make();
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>

#include "measure/engines/cuda/driver.h"

namespace comm_probe::measure::cuda {

// The driver, once `Driver::get` has succeeded in this process.
const Driver& driver();

// One handle and what gives it back.
template <class Handle>
class Owned {
 public:
  using Release = void (*)(Handle);
  Owned() = default;
  Owned(Handle handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, {})), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = {};
  Release release_ = nullptr;
};

// The primary context of a device, which the runtime API (and so PyTorch and NCCL) uses too.
class Context {
 public:
  // Retains it and makes it current on this thread.
  static core::Result<Context> open(int ordinal);
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  ~Context();

  // Makes it current on the calling thread.
  core::Result<bool> bind() const;
  ContextHandle handle() const { return handle_; }
  int device() const { return device_; }
  std::string name() const;    // "NVIDIA H200"
  std::string bus_id() const;  // "0000:1b:00.0", in lower case as the kernel writes it
  // 0 where the driver does not know it.
  int attribute(Attribute which) const;

 private:
  Context(int device, ContextHandle handle) : device_(device), handle_(handle) {}
  int device_;
  ContextHandle handle_;
};

// What the GPU of the current context has left.
core::Result<core::Bytes> free_memory();

class DeviceBuffer {
 public:
  static core::Result<DeviceBuffer> make(core::Bytes size);
  Address address() const { return memory_.get(); }

 private:
  explicit DeviceBuffer(Owned<Address> memory) : memory_(std::move(memory)) {}
  Owned<Address> memory_;
};

// Host memory that is pinned for every device.
class PinnedBuffer {
 public:
  static core::Result<PinnedBuffer> make(core::Bytes size, unsigned flags = kHostAllocPortable);
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  // The same memory as a kernel addresses it.
  core::Result<Address> device_address() const;

 private:
  explicit PinnedBuffer(Owned<void*> memory) : memory_(std::move(memory)) {}
  Owned<void*> memory_;
};

class Event;

class Stream {
 public:
  // Does not wait for the default stream.
  static core::Result<Stream> make();
  StreamHandle handle() const { return handle_.get(); }
  core::Result<bool> synchronize() const;
  // What follows on it begins when `event` has happened.
  core::Result<bool> wait_for(const Event& event) const;

 private:
  explicit Stream(Owned<StreamHandle> handle) : handle_(std::move(handle)) {}
  Owned<StreamHandle> handle_;
};

class Event {
 public:
  static core::Result<Event> make(unsigned flags = 0);
  EventHandle handle() const { return handle_.get(); }
  core::Result<bool> record(const Stream& stream) const;
  core::Result<bool> synchronize() const;
  // From `earlier`; both must have happened.
  core::Result<core::Duration> since(const Event& earlier) const;

 private:
  explicit Event(Owned<EventHandle> handle) : handle_(std::move(handle)) {}
  Owned<EventHandle> handle_;
};

class Module {
 public:
  // One of the images that the program carries (kernel_image.h).
  static core::Result<Module> load(const std::string& image);
  core::Result<FunctionHandle> function(const char* name) const;

 private:
  explicit Module(Owned<ModuleHandle> handle) : handle_(std::move(handle)) {}
  Owned<ModuleHandle> handle_;
};

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;
};
// `parameters` point to the values of the kernel's parameters.
core::Result<bool> launch(FunctionHandle function, const Grid& grid, const Stream& stream,
                          std::span<void*> parameters);

// What was put on a stream between begin and end, to be launched as one.
class Graph {
 public:
  static core::Result<bool> begin_capture(const Stream& stream);
  static core::Result<Graph> end_capture(const Stream& stream);
  // The same in two steps: nothing is made of what was captured while another stream of this thread
  // still captures.
  static core::Result<GraphHandle> stop_capture(const Stream& stream);
  static core::Result<Graph> of_captured(GraphHandle captured);
  core::Result<bool> launch(const Stream& stream) const;
  GraphExecHandle handle() const { return handle_.get(); }

 private:
  explicit Graph(Owned<GraphExecHandle> handle) : handle_(std::move(handle)) {}
  Owned<GraphExecHandle> handle_;
};

}  // namespace comm_probe::measure::cuda
