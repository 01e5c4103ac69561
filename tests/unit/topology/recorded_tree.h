// A recorded machine made for a test: a folder with sys/ and proc/ that is removed at the end.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/host.h"

namespace comm_probe::test {

class RecordedTree {
 public:
  struct Pci {
    std::string code = "0x060400";
    std::string vendor = "0x1000";
    int numa = 0;
    std::string speed = "32.0 GT/s PCIe";
    int width = 16;
    int trained_width = 16;
    std::string trained_speed = "32.0 GT/s PCIe";
  };

  RecordedTree()
      : root_(std::filesystem::temp_directory_path() /
              fmt::format("comm-probe-{}-{}", ::getpid(), count_++)) {
    std::filesystem::create_directories(root_);
  }
  ~RecordedTree() { std::filesystem::remove_all(root_); }
  RecordedTree(const RecordedTree&) = delete;
  RecordedTree& operator=(const RecordedTree&) = delete;

  std::string path() const { return root_.string(); }
  core::Host host() const { return *core::Host::recorded(path()); }

  void file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content << "\n";
  }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
  }
  // `way` is the path below /sys/devices: "pci0000:15/0000:15:01.0/0000:16:00.0"
  void pci(const std::string& way, const Pci& pci) {
    const std::string folder = "sys/devices/" + way + "/";
    file(folder + "class", pci.code);
    file(folder + "vendor", pci.vendor);
    file(folder + "device", "0xc030");
    file(folder + "numa_node", fmt::to_string(pci.numa));
    file(folder + "max_link_speed", pci.speed);
    file(folder + "max_link_width", fmt::to_string(pci.width));
    file(folder + "current_link_speed", pci.trained_speed);
    file(folder + "current_link_width", fmt::to_string(pci.trained_width));
    link("sys/bus/pci/devices/" + way.substr(way.rfind('/') + 1), "../../../devices/" + way);
  }
  void rdma(const std::string& device, const std::string& way, const std::string& state) {
    const std::string folder = "sys/devices/" + way + "/infiniband/" + device + "/";
    file(folder + "ports/1/state", state);
    file(folder + "ports/1/link_layer", "InfiniBand");
    file(folder + "ports/1/rate", "400 Gb/sec (4X NDR)");
    link("sys/class/infiniband/" + device, "../../devices/" + way + "/infiniband/" + device);
  }
  void numa(int nodes) {
    file("proc/cpuinfo", "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nflags : fpu");
    for (int i = 0; i < nodes; ++i) {
      const std::string folder = fmt::format("sys/devices/system/node/node{}/", i);
      file(folder + "cpulist", fmt::format("{}-{}", 4 * i, 4 * i + 3));
      file(folder + "distance", i == 0 ? "10 21" : "21 10");
    }
  }
  // Two sockets with two switches each; a GPU and a NIC below each switch, as in a DGX H100.
  void four_switches() {
    numa(2);
    for (int i = 0; i < 4; ++i) {
      const int bus = 0x10 + 0x10 * i;
      const std::string root = fmt::format("pci0000:{:02x}/0000:{:02x}:01.0", bus, bus);
      const std::string up = fmt::format("{}/0000:{:02x}:00.0", root, bus + 1);
      const int numa = i / 2;
      pci(root, {.vendor = "0x8086", .numa = numa});
      pci(up, {.numa = numa});
      for (int port = 0; port < 2; ++port) {
        const std::string down = fmt::format("{}/0000:{:02x}:{:02x}.0", up, bus + 2, port);
        const std::string end = fmt::format("{}/0000:{:02x}:00.0", down, bus + 3 + port);
        pci(down, {.numa = numa});
        pci(end, {.code = port == 0 ? "0x030200" : "0x020700",
                  .vendor = port == 0 ? "0x10de" : "0x15b3",
                  .numa = numa});
        if (port == 1) rdma(fmt::format("mlx5_{}", i), end, "4: ACTIVE");
      }
    }
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path root_;
};

}  // namespace comm_probe::test
