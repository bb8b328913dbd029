#include "meanwhile/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <fstream>
#include <memory>

#include "meanwhile/base/mapped_files.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::base {
namespace {

using testing::HasSubstr;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// No file of this process may grow beyond `bytes`: what a full disk looks like.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(FileWriter, PutsTheWholeFileInPlaceOnCommit) {
  const TemporaryFolder folder;
  FileWriter writer(folder / "a");
  writer.write("one ");
  writer.write("two");
  EXPECT_EQ(writer.size(), 7u);
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  writer.commit();
  EXPECT_EQ(read_file(folder / "a"), "one two");
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("a"));
}

TEST(FileWriter, WriteAtChangesTheBeginningAndLeavesTheEnd) {
  const TemporaryFolder folder;
  FileWriter writer(folder / "a");
  writer.write("........tail");
  writer.write_at(2, std::as_bytes(std::span<const char>("head", 4)));
  writer.write("s");
  writer.commit();
  EXPECT_EQ(read_file(folder / "a"), "..head..tails");
}

TEST(FileWriter, LeavesNothingBehindWhenNotCommitted) {
  const TemporaryFolder folder;
  { FileWriter(folder / "a").write("half"); }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(FileWriter, KeepsTheOldFileWhenNotCommitted) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  { FileWriter(folder / "a").write("new"); }
  EXPECT_EQ(read_file(folder / "a"), "old");
  write_file(folder / "a", "new");
  EXPECT_EQ(read_file(folder / "a"), "new");
}

TEST(FileWriter, SaysSoWhenTheDiskIsFullAndKeepsTheOldFile) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  const std::string message = error_of(ErrorKind::kSystem, [&] {
    const FileSizeLimit limit(1000);
    write_file(folder / "a", std::string(5000, 'x'));
  });
  EXPECT_THAT(message, HasSubstr("writing " + (folder / "a").string() + ": "));
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("a"));
}

TEST(FileWriter, SharesNoPartialFileWithAnotherWriter) {
  const TemporaryFolder folder;
  FileWriter one(folder / "a"), other(folder / "a");
  one.write("one");
  other.write("other");
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
  one.commit();
  EXPECT_EQ(read_file(folder / "a"), "one");
  other.commit();
  EXPECT_EQ(read_file(folder / "a"), "other");
}

TEST(FileWriter, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  FileWriter writer(folder / "a");
  writer.write("abcdef");
  std::array<std::byte, 3> bytes;
  writer.read_at(2, bytes);
  EXPECT_EQ(bytes[0], std::byte{'c'});
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { writer.read_at(4, bytes); }),
              HasSubstr("reading"));
}

TEST(AppendLine, SaysWhyALineWasCutShort) {
  const TemporaryFolder folder;
  append_line(folder / "a", "one");
  const std::string message = error_of(ErrorKind::kSystem, [&] {
    const FileSizeLimit limit(10);
    append_line(folder / "a", "a line that is longer");
  });
  EXPECT_THAT(message, HasSubstr("File too large"));
}

TEST(RemovePartials, LeavesOtherFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "b");
  for (const char* name : {"a", "a.partial", "b/c.12.partial", "b/c"}) {
    std::ofstream(folder / name) << "x";
  }
  remove_partials(folder.path());
  EXPECT_THAT(names_in(folder.path()), testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(names_in(folder / "b"), testing::ElementsAre("c"));
}

TEST(FileWriter, NamesTheFolderThatIsMissing) {
  const TemporaryFolder folder;
  const std::string message =
      error_of(ErrorKind::kSystem, [&] { FileWriter(folder / "no/such/file"); });
  EXPECT_THAT(message, HasSubstr("no/such/file"));
  EXPECT_THAT(message, HasSubstr("No such file or directory"));
}

TEST(MappedFile, ShowsTheBytesAndAnEmptyFile) {
  const TemporaryFolder folder;
  write_file(folder / "a", "abc");
  write_file(folder / "empty", "");
  const MappedFile file(folder / "a");
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(file.bytes()[2], std::byte{'c'});
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
}

TEST(MappedFile, RefusesWhatIsMissingOrAFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(input_error_of([&] { MappedFile(folder / "a"); }),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(input_error_of([&] { MappedFile(folder.path()); }), HasSubstr("not a regular file"));
}

TEST(MappedFile, IsFoundByAnAddressInItWhileItIsMapped) {
  const TemporaryFolder folder;
  write_file(folder / "a", "abc");
  const void* inside = nullptr;
  {
    const MappedFile file(folder / "a"), again(folder / "a");
    inside = file.bytes().data() + 1;
    EXPECT_EQ(mapped_path(inside), (folder / "a").string());
    EXPECT_EQ(mapped_path(file.bytes().data() + 3), nullptr);
    EXPECT_EQ(mapped_path(&folder), nullptr);
  }
  EXPECT_EQ(mapped_path(inside), nullptr);
}

TEST(MappedFile, MayBeManyMoreThanTheTableHolds) {
  const TemporaryFolder folder;
  write_file(folder / "a", "abc");
  std::vector<std::unique_ptr<MappedFile>> files;
  for (int i = 0; i < 600; ++i) files.push_back(std::make_unique<MappedFile>(folder / "a"));
  for (const auto& file : files) EXPECT_EQ(file->bytes().size(), 3u);
  files.clear();
  const MappedFile file(folder / "a");
  EXPECT_NE(mapped_path(file.bytes().data()), nullptr);
}

TEST(ReleaseMapped, LeavesTheContentReadable) {
  const TemporaryFolder folder;
  const std::string text(100'000, 'x');
  write_file(folder / "a", text);
  const MappedFile file(folder / "a");
  release_mapped(file.bytes());
  release_mapped(file.bytes().subspan(1, 10));
  release_mapped({});
  for (const std::byte b : file.bytes()) ASSERT_EQ(b, std::byte{'x'});
}

}  // namespace
}  // namespace meanwhile::base
