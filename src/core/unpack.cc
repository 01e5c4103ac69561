#include "core/unpack.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <optional>

namespace comm_probe::core {
namespace {

constexpr std::size_t kBlock = 1 << 20;

// What gzip and zstd have in common: feed packed blocks, hand out unpacked ones, remember an error
// until what was unpacked before it has been delivered.
class UnpackSource : public ByteSource {
 public:
  UnpackSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), output_(kBlock, '\0') {}

  Result<std::string_view> next() override {
    std::size_t filled = 0;
    while (filled < output_.size() && !error_ && !finished_) {
      if (input_.empty() && !refill()) break;
      filled += step(input_, output_.data() + filled, output_.size() - filled);
    }
    if (filled == 0 && error_) return *error_;
    return std::string_view(output_.data(), filled);
  }

 protected:
  // Consumes from `input`, writes at most `room` bytes to `out`, returns how many; calls fail() on
  // damaged data.
  virtual std::size_t step(std::string_view& input, char* out, std::size_t room) = 0;
  // True where the packed data may end here.
  virtual bool at_boundary() const = 0;

  void fail(std::string message) {
    Error error = input_error(std::move(message));
    error.where = {name_, std::nullopt, packed_read_ - input_.size()};
    error_ = std::move(error);
  }

 private:
  bool refill() {
    Result<std::string_view> block = packed_->next();
    if (!block) {
      error_ = block.error();
      return false;
    }
    input_ = *block;
    packed_read_ += input_.size();
    if (!input_.empty()) return true;
    finished_ = true;
    if (!at_boundary()) fail("packed data ends in the middle, expected more");
    return false;
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::string output_;
  std::string_view input_ = {};
  std::uint64_t packed_read_ = 0;
  std::optional<Error> error_ = {};
  bool finished_ = false;
};

class GzipSource : public UnpackSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : UnpackSource(std::move(packed), std::move(name)) {
    COMM_PROBE_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "inflateInit2 failed");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 protected:
  std::size_t step(std::string_view& input, char* out, std::size_t room) override {
    if (member_ended_) {  // another member, or trailing zeros that some writers leave
      if (input.front() == '\0') {
        input.remove_prefix(1);
        return 0;
      }
      inflateReset(&stream_);
      member_ended_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    input.remove_prefix(input.size() - stream_.avail_in);
    if (status == Z_STREAM_END) member_ended_ = true;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      fail(fmt::format("damaged gzip data: {}",
                       stream_.msg == nullptr ? "no details" : stream_.msg));
    return room - stream_.avail_out;
  }
  bool at_boundary() const override { return member_ended_; }

 private:
  z_stream stream_ = {};
  bool member_ended_ = false;
};

class ZstdSource : public UnpackSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> packed, std::string name)
      : UnpackSource(std::move(packed), std::move(name)), stream_(ZSTD_createDStream()) {
    COMM_PROBE_CHECK(stream_ != nullptr, "ZSTD_createDStream failed");
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

 protected:
  std::size_t step(std::string_view& input, char* out, std::size_t room) override {
    ZSTD_inBuffer in = {input.data(), input.size(), 0};
    ZSTD_outBuffer target = {out, room, 0};
    const std::size_t status = ZSTD_decompressStream(stream_, &target, &in);
    input.remove_prefix(in.pos);
    if (ZSTD_isError(status)) fail(fmt::format("damaged zstd data: {}", ZSTD_getErrorName(status)));
    frame_ended_ = status == 0;
    return target.pos;
  }
  bool at_boundary() const override { return frame_ended_; }

 private:
  ZSTD_DStream* stream_;
  bool frame_ended_ = false;
};

}  // namespace

Packing detect_packing(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return Packing::kGzip;
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return Packing::kZstd;
  return Packing::kNone;
}

std::unique_ptr<ByteSource> unpack(Packing packing, std::unique_ptr<ByteSource> packed,
                                   const std::string& name) {
  switch (packing) {
    case Packing::kNone:
      return packed;
    case Packing::kGzip:
      return std::make_unique<GzipSource>(std::move(packed), name);
    case Packing::kZstd:
      return std::make_unique<ZstdSource>(std::move(packed), name);
  }
  return packed;
}

}  // namespace comm_probe::core
