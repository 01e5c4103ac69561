// The GPUs that a run lists in its header. Runs one after the other mostly list the same ones: they
// share one list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace comm_probe::curve {

struct Device {
  int rank = 0;
  std::optional<int> group = {};
  std::string host = {};
  int device = 0;
  std::string bus_id = {};  // "0x07", "000f:01:00"
  std::string name = {};    // "NVIDIA A100-SXM4-40GB"
  bool operator==(const Device&) const = default;
};

class DeviceList {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return list_ ? list_->size() : 0; }
  const Device& front() const { return list_->front(); }
  const Device& operator[](std::size_t i) const { return (*list_)[i]; }
  const Device* begin() const { return list_ ? list_->data() : nullptr; }
  const Device* end() const { return list_ ? list_->data() + list_->size() : nullptr; }

  // A list that is shared is copied first.
  void push_back(Device device) {
    if (!list_) list_ = std::make_shared<std::vector<Device>>();
    if (list_.use_count() > 1) list_ = std::make_shared<std::vector<Device>>(*list_);
    list_->push_back(std::move(device));
  }
  void clear() { list_.reset(); }
  // Where both lists say the same, one of them is enough.
  void share_with(const DeviceList& other) {
    if (list_ && other.list_ && list_ != other.list_ && *list_ == *other.list_) list_ = other.list_;
  }

 private:
  std::shared_ptr<std::vector<Device>> list_ = {};
};

}  // namespace comm_probe::curve
