#include "meanwhile/data/text/byte_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/data/standard_input.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

// Reads in pieces of `piece` bytes.
std::string read_all(const std::filesystem::path& path, std::size_t piece) {
  const auto stream = open_bytes(path);
  std::string all;
  std::vector<char> buffer(piece);
  for (std::size_t got; (got = stream->read(buffer)) > 0;) all.append(buffer.data(), got);
  return all;
}

class ByteStreamTest : public testing::Test {
 protected:
  std::string error(const std::string& name, const std::string& bytes) {
    const auto path = folder_ / name;
    write_text(path, bytes);
    const std::string message = input_error_of([&] { read_all(path, 1000); });
    return message.substr(std::min(message.size(), path.string().size()));
  }
  TemporaryFolder folder_;
};

TEST_F(ByteStreamTest, ReadsPlainAndCompressedFilesAlike) {
  const std::string text = long_text();
  write_text(folder_ / "a", text);
  write_text(folder_ / "a.gz", gzip(text));
  write_text(folder_ / "a.zst", zstd(text));
  for (const char* name : {"a", "a.gz", "a.zst"}) {
    for (const std::size_t piece : {std::size_t{7}, std::size_t{4096}, std::size_t{1} << 22}) {
      EXPECT_TRUE(read_all(folder_ / name, piece) == text) << name << " " << piece;
    }
  }
}

TEST_F(ByteStreamTest, ConcatenatedMembersAreOneStream) {
  write_text(folder_ / "a.gz", gzip("one") + gzip("") + gzip("two") + std::string(512, '\0'));
  write_text(folder_ / "a.zst", zstd("one") + zstd("") + zstd("two"));
  EXPECT_EQ(read_all(folder_ / "a.gz", 2), "onetwo");
  EXPECT_EQ(read_all(folder_ / "a.zst", 2), "onetwo");
}

TEST_F(ByteStreamTest, SaysWhereCompressedDataEndsEarly) {
  const std::string text = long_text();
  const std::string gz = gzip(text), zst = zstd(text);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{5}, gz.size() / 2, gz.size() - 1}) {
    EXPECT_EQ(
        error("a.gz", gz.substr(0, cut)),
        fmt::format(": gzip data ends at byte {} before it is complete: the file was cut short",
                    cut));
  }
  for (const std::size_t cut : {std::size_t{1}, std::size_t{5}, zst.size() / 2, zst.size() - 1}) {
    EXPECT_EQ(
        error("a.zst", zst.substr(0, cut)),
        fmt::format(": zstd data ends at byte {} before it is complete: the file was cut short",
                    cut));
  }
}

TEST_F(ByteStreamTest, SaysWhereCompressedDataIsCorrupt) {
  const std::string text = long_text();
  std::string gz = gzip(text), zst = zstd(text);
  gz[gz.size() / 2] = static_cast<char>(gz[gz.size() / 2] ^ 0x55);
  zst[zst.size() / 2] = static_cast<char>(zst[zst.size() / 2] ^ 0x55);
  EXPECT_EQ(error("a.gz", gz).substr(0, 32), ": gzip data is corrupt near byte");
  EXPECT_EQ(error("a.zst", zst).substr(0, 32), ": zstd data is corrupt near byte");
  EXPECT_EQ(error("a.gz", "plain text"), ": found byte 0x70 at byte 0, expected gzip data");
  EXPECT_EQ(error("a.gz", gzip("x") + "more"), ": found byte 0x6d at byte 21, expected gzip data");
  EXPECT_EQ(error("a.zst", "plain text").substr(0, 32), ": zstd data is corrupt near byte");
}

TEST_F(ByteStreamTest, SaysWhatCannotBeOpened) {
  EXPECT_EQ(input_error_of([&] { open_bytes(folder_ / "none"); }),
            (folder_ / "none").string() + ": No such file or directory");
  EXPECT_EQ(input_error_of([&] { open_bytes(folder_.path()); }),
            folder_.path().string() + ": is a directory, expected a file");
}

TEST_F(ByteStreamTest, StandardInputIsDecompressedIfItLooksCompressed) {
  for (const std::string& bytes : {std::string("a\n"), gzip("a\n"), zstd("a\n")}) {
    write_text(folder_ / "input", bytes);
    const StandardInput input(folder_ / "input");
    EXPECT_EQ(read_all("-", 100), "a\n");
  }
}

}  // namespace
}  // namespace meanwhile::data
