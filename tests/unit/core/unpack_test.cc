// Packed inputs, whatever the sizes of their blocks: every byte arrives, and an end is an end.
#include "core/unpack.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "core/input.h"

namespace comm_probe::core {
namespace {

// Text that does not repeat much: packed blocks stay of a size.
std::string mixed_text(std::size_t size) {
  std::string text;
  std::uint64_t state = 88172645463325252U;  // xorshift64 (Marsaglia 2003), a fixed seed
  while (text.size() < size) {
    state ^= state << 13U, state ^= state >> 7U, state ^= state << 17U;
    text += static_cast<char>('a' + state % 16);
    if (state % 61 == 0) text += '\n';
  }
  return text;
}

// Flushed every `piece` bytes, so that blocks end anywhere.
std::string zstd_in_pieces(const std::string& plain, std::size_t piece, int checksum = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  std::string packed(ZSTD_compressBound(plain.size()) + plain.size() / piece * 16 + 64, '\0');
  ZSTD_outBuffer out = {packed.data(), packed.size(), 0};
  for (std::size_t at = 0; at < plain.size(); at += piece) {
    ZSTD_inBuffer in = {plain.data() + at, std::min(piece, plain.size() - at), 0};
    const bool last = at + piece >= plain.size();
    ZSTD_compressStream2(context, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
  }
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

std::string gzip_in_pieces(const std::string& plain, std::size_t piece) {
  z_stream stream = {};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, plain.size()) + plain.size() / piece * 16 + 64, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  for (std::size_t at = 0; at < plain.size(); at += piece) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data() + at));
    stream.avail_in = static_cast<uInt>(std::min(piece, plain.size() - at));
    deflate(&stream, at + piece >= plain.size() ? Z_FINISH : Z_SYNC_FLUSH);
  }
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Unpack, EveryByteArrivesWhereverBlocksEnd) {
  for (const std::size_t size : {1UL, 1048576UL, 1048577UL, 1150000UL})
    for (const std::size_t piece : {7919UL, 100000UL, 131072UL, 5000000UL}) {
      const std::string plain = mixed_text(size);
      for (const std::string& packed :
           {zstd_in_pieces(plain, piece), gzip_in_pieces(plain, piece)}) {
        Result<std::string> all = Input::from_memory("x", packed).read_all(1U << 30U);
        ASSERT_TRUE(all.ok()) << size << " in " << piece << ": " << all.error().one_line();
        EXPECT_EQ(*all == plain, true) << size << " in " << piece;
      }
    }
}

TEST(Unpack, SaysWhereItIsDamaged) {
  const std::string plain = mixed_text(3000000);
  // without its checksum zstd cannot see damage in literals; the zstd program writes one
  for (std::string packed : {zstd_in_pieces(plain, 100000, 1), gzip_in_pieces(plain, 100000)}) {
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) packed[i] = '\x55';
    Input input = Input::from_memory("x.gz", packed);
    std::string got;
    Result<std::string_view> block = input.next();
    for (; block.ok() && !block->empty(); block = input.next()) got += *block;
    ASSERT_FALSE(block.ok());
    EXPECT_NE(block.error().one_line().find("x.gz: offset "), std::string::npos);
    EXPECT_GT(got.size(), 1000000U);
    EXPECT_EQ(plain.compare(0, 1000000, got, 0, 1000000), 0);
    EXPECT_FALSE(input.next().ok()) << "an error stays";
  }
}

TEST(Unpack, TheLimitHoldsForWhatIsUnpacked) {
  const std::string zeros(64U << 20U, '\0');
  Input bomb = Input::from_memory("bomb.gz", gzip_in_pieces(zeros, zeros.size()));
  const Result<std::string> all = bomb.read_all(1U << 20U);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().one_line().find("larger than 1048576 bytes"), std::string::npos);
}

TEST(Unpack, ZerosAfterAMemberAreTolerated) {
  const std::string packed = gzip_in_pieces("hello\n", 100) + std::string(512, '\0');
  EXPECT_EQ(*Input::from_memory("x", packed).read_all(100), "hello\n");
}

TEST(Unpack, AnEmptyPackedTextIsEmpty) {
  std::string packed(64, '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), "", 0, 1));
  Input input = Input::from_memory("x", packed);
  EXPECT_EQ(input.head(), "");
  EXPECT_EQ(*input.read_all(100), "");
}

}  // namespace
}  // namespace comm_probe::core
