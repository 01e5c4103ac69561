// The readers of tests of links under damage: cut at every byte, with bytes changed, lines doubled,
// left out or joined. Nothing crashes, nothing is invented: what a cut text shows, the whole one
// shows too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "curve/curve.h"

namespace comm_probe::curve {
namespace {

const std::string kFolder = COMM_PROBE_SHARED "/data/field/perftest/";

// One text with every tool, made here, so that the test runs without the field files too.
const char* const kAll =
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 1\t\tTransport type : IB\n"
    " Link type       : IB\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             395.80             392.60             0.748825\n"
    " 131072     5000             396.80             393.60             0.375366\n"
    "nvbandwidth Version: v0.8\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    172.16\n"
    " 1    171.99       N/A\n"
    "SUM device_to_device_memcpy_read_ce 344.15\n"
    "# OSU MPI Latency Test v7.2\n"
    "# Size          Latency (us)\n"
    "0                       1.02\n"
    "8                       1.05\n"
    "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
    "1m      10      =10      20m         0.01s   2185.67     479.75       0.00\n";

std::vector<std::string> texts() {
  std::vector<std::string> all = {kAll};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, ignored)) {
    if (entry.path().extension() != ".txt" || entry.file_size() > 3000) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    all.push_back(text.str());
  }
  return all;
}

Reading read_text(const std::string& text) {
  auto input = core::Input::from_memory("paste.txt", text);
  auto reading = read(input);
  return reading.ok() ? *reading : Reading{};
}

// "line:bytes:average" of every row that is whole.
std::set<std::string> rows_of(const Reading& reading) {
  std::set<std::string> rows;
  for (const LinkTest& test : reading.links)
    for (const LinkRow& row : test.rows)
      rows.insert(std::to_string(row.line) + ":" + std::to_string(row.bytes.whole()));
  return rows;
}

TEST(LinkReadersUnderDamage, WhatACutTextShowsTheWholeOneShows) {
  for (const std::string& text : texts()) {
    const auto whole = rows_of(read_text(text));
    for (std::size_t size = 0; size <= text.size(); size += text.size() > 1000 ? 7 : 1) {
      const Reading cut = read_text(text.substr(0, size));
      EXPECT_LE(cut.links.size(), 64U);
      const std::uint64_t last_line =
          1 + static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + size, '\n'));
      for (const std::string& row : rows_of(cut)) {
        // The last line may be cut in the middle of its size.
        if (row.starts_with(std::to_string(last_line) + ":")) continue;
        EXPECT_TRUE(whole.contains(row)) << row << " at " << size;
      }
    }
  }
}

void expect_sound(const Reading& reading) {
  for (const LinkTest& test : reading.links) {
    EXPECT_LE(test.first_line, test.last_line);
    for (const LinkMatrix& matrix : test.matrices)
      EXPECT_EQ(matrix.cells.size(), matrix.rows.size() * matrix.columns.size());
    for (const LinkRow& row : test.rows) EXPECT_TRUE(row.average || row.latency());
  }
}

TEST(LinkReadersUnderDamage, ChangedBytesAreRefusedOrSound) {
  std::mt19937 random(7);
  for (const std::string& text : texts())
    for (int round = 0; round < 60; ++round) {
      std::string changed = text;
      for (int i = 0; i < 1 + round % 8; ++i)
        changed[random() % changed.size()] = static_cast<char>(random() % 256);
      expect_sound(read_text(changed));
    }
}

TEST(LinkReadersUnderDamage, LinesOutOfOrderAreRefusedOrSound) {
  std::mt19937 random(11);
  for (const std::string& text : texts()) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    for (int round = 0; round < 30; ++round) {
      std::string changed;
      for (const std::string& line : lines) switch (random() % 6) {
          case 0:
            break;
          case 1:
            changed += line + "\n" + line + "\n";
            break;
          case 2:
            changed += lines[random() % lines.size()] + "\n";
            break;
          default:
            changed += line + "\n";
        }
      expect_sound(read_text(changed));
    }
  }
}

// A text made to fill the memory: titles only, columns only, one endless test.
TEST(LinkReadersUnderDamage, HostileRepetitionIsBounded) {
  std::string titles, rows =
                          " RDMA_Write BW Test\n #bytes #iterations BW peak[Gb/sec] BW average["
                          "Gb/sec] MsgRate[Mpps]\n";
  for (int i = 0; i < 60000; ++i)
    titles += "Send BW Test\n #bytes #iterations BW average[Gb/sec]\n";
  for (int i = 0; i < 100000; ++i) rows += "8 1 1 1 1\n";
  EXPECT_LE(read_text(titles).links.size(), 20000U);
  const Reading many = read_text(rows);
  ASSERT_EQ(many.links.size(), 1U);
  EXPECT_LE(many.links[0].rows.size(), 4096U);
}

}  // namespace
}  // namespace comm_probe::curve
