#include <algorithm>
#include <array>
#include <utility>

#include "core/foreign_packing.h"
#include "core/input.h"

namespace comm_probe::core {
namespace {

struct Magic {
  std::string_view bytes;  // '?' stands for any byte
  const char* description;
  bool is_packed = false;  // files or texts are in it, which are not read
};

constexpr std::array kMagics = {
    Magic{"\x89PNG", "a PNG image (give the text itself, not a picture of it)"},
    Magic{"\xff\xd8\xff", "a JPEG image (give the text itself, not a picture of it)"},
    Magic{"GIF8", "a GIF image (give the text itself, not a picture of it)"},
    Magic{"%PDF", "a PDF document (pdftotext -layout makes text of it)"},
    Magic{"PK\x03\x04", "a zip archive (unpack it first)", true},
    Magic{"\xfd"
          "7zXZ",
          "packed with xz (tar -xJf or xz -d unpacks it)", true},
    Magic{"BZh?1AY&SY", "packed with bzip2 (tar -xjf or bzip2 -d unpacks it)", true},
    Magic{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive (unpack it first)", true},
    Magic{"\x04\x22\x4d\x18", "packed with lz4 (lz4 -d unpacks it)", true},
    Magic{"\x7f"
          "ELF",
          "an ELF program"},
    Magic{"SQLite format 3", "an SQLite database"},
};

bool begins_with(std::string_view head, std::string_view magic) {
  return head.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), head.begin(),
                    [](char expected, char found) { return expected == '?' || expected == found; });
}

const Magic* magic_of(std::string_view head) {
  const auto magic = std::find_if(kMagics.begin(), kMagics.end(),
                                  [&](const Magic& each) { return begins_with(head, each.bytes); });
  return magic == kMagics.end() ? nullptr : &*magic;
}

bool is_utf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  if (head.size() < 16) return false;
  std::array<std::size_t, 2> zeros = {};  // text in UTF-16 without a mark: every other byte is zero
  for (std::size_t i = 0; i < head.size(); ++i)
    if (head[i] == '\0') ++zeros[i % 2];
  const std::size_t half = head.size() / 2;
  return (zeros[0] > half * 3 / 4 && zeros[1] <= half / 16) ||
         (zeros[1] > half * 3 / 4 && zeros[0] <= half / 16);
}

bool is_binary(std::string_view head) {
  std::size_t control = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' && c != '\b' && c != '\f')
      ++control;
  }
  return control * 10 > head.size() || head.substr(0, 1024).find('\0') != std::string_view::npos;
}

}  // namespace

ContentClass classify_content(std::string_view head) {
  if (head.empty()) return ContentClass::kEmpty;
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == '\0'; }))
    return ContentClass::kZeros;
  if (is_utf16(head)) return ContentClass::kUtf16;
  if (magic_of(head) != nullptr) return ContentClass::kBinary;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);  // the byte order mark of UTF-8
  if (is_binary(head)) return ContentClass::kBinary;
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return ContentClass::kText;
  if (head[first] == '{' || head.substr(first).starts_with("[{")) return ContentClass::kJson;
  if (head.substr(first).starts_with("<?xml") || head.substr(first).starts_with("<system"))
    return ContentClass::kXml;
  return ContentClass::kText;
}

bool is_packed_otherwise(std::string_view head) {
  const Magic* magic = magic_of(head);
  return magic != nullptr && magic->is_packed;
}

std::string describe_content(std::string_view head) {
  if (const Magic* magic = magic_of(head)) return magic->description;
  switch (classify_content(head)) {
    case ContentClass::kEmpty:
      return "an empty file";
    case ContentClass::kZeros:
      return "nothing but zero bytes";
    case ContentClass::kUtf16:
      return "UTF-16 text (iconv -f UTF-16 -t UTF-8 makes it readable)";
    case ContentClass::kBinary:
      return "binary data";
    case ContentClass::kJson:
      return "JSON";
    case ContentClass::kXml:
      return "XML";
    case ContentClass::kText:
      return "text";
  }
  return "text";
}

}  // namespace comm_probe::core
