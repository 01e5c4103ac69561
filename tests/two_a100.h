#pragma once

namespace comm_probe::test {

// Two A100 PCIe on root ports of one EPYC, one NIC.
inline const char* const kTwoGpus =
    "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
    "familyid=\"25\" modelid=\"1\">"
    "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/></pci>"
    "<pci busid=\"0000:41:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"1\" sm=\"80\" rank=\"1\" gdr=\"1\"/></pci>"
    "<pci busid=\"0000:81:00.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" gdr=\"1\"/></nic></pci>"
    "</cpu></system>";

}  // namespace comm_probe::test
