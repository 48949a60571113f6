// Striping: layouts of Lustre, read and asked for, and files that are opened with and without them. The
// Lustre here is played over an ordinary folder; its layouts are written out byte by byte.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "io/support.hpp"
#include "storage/lustre.hpp"
#include "storage/posix.hpp"

namespace tasuki::test {
namespace {

using Layout = std::vector<std::byte>;

/// Appends numbers in the byte order of the machine.
template <class Number>
void put(Layout* layout, Number number) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&number);
  layout->insert(layout->end(), bytes, bytes + sizeof number);
}

struct Plain {
  std::uint32_t magic = 0x0bd10bd0;
  std::uint32_t pattern = 1;
  std::uint32_t unit = 1 << 20;
  std::uint16_t targets = 4;
  std::uint16_t generation = 77;
  std::vector<std::uint32_t> indices = {9, 10, 11, 0};
};

Layout layout_of(const Plain& plain) {
  Layout layout;
  put(&layout, plain.magic);
  put(&layout, plain.pattern);
  put(&layout, std::uint64_t{1});
  put(&layout, std::uint64_t{2});
  put(&layout, plain.unit);
  put(&layout, plain.targets);
  put(&layout, plain.generation);
  if (plain.magic != 0x0bd10bd0) layout.resize(layout.size() + 16);
  for (const std::uint32_t index : plain.indices) {
    put(&layout, std::uint64_t{3});
    put(&layout, std::uint64_t{4});
    put(&layout, std::uint32_t{0});
    put(&layout, index);
  }
  return layout;
}

Layout composite_of(const std::vector<Layout>& components) {
  Layout layout;
  put(&layout, std::uint32_t{0x0bd60bd0});
  put(&layout, std::uint32_t{0});
  put(&layout, std::uint32_t{1});
  put(&layout, std::uint16_t{0});
  put(&layout, static_cast<std::uint16_t>(components.size()));
  layout.resize(32);
  std::size_t begin = 32 + 48 * components.size();
  for (const Layout& component : components) {
    layout.resize(layout.size() + 24);
    put(&layout, static_cast<std::uint32_t>(begin));
    put(&layout, static_cast<std::uint32_t>(component.size()));
    layout.resize(layout.size() + 16);
    begin += component.size();
  }
  for (const Layout& component : components) layout.insert(layout.end(), component.begin(), component.end());
  return layout;
}

void expect_striping(const Layout& layout, int targets, Count unit, int first) {
  Striping striping;
  ASSERT_TRUE(lustre::parse_layout(layout, &striping));
  EXPECT_EQ(striping.targets, targets);
  EXPECT_EQ(striping.unit_bytes, unit);
  EXPECT_EQ(striping.first_target, first);
}

void expect_unknown(const Layout& layout) {
  Striping striping;
  EXPECT_FALSE(lustre::parse_layout(layout, &striping));
}

TEST(Lustre, PlainLayouts) {
  expect_striping(layout_of({}), 4, 1 << 20, 9);
  expect_striping(layout_of({.magic = 0x0bd30bd0}), 4, 1 << 20, 9);
  expect_striping(layout_of({.magic = 0x0bd50bd0, .unit = 0xffff0000, .targets = 2000, .indices = {65000}}),
                  2000, 0xffff0000, 65000);
  expect_striping(layout_of({.indices = {}}), 4, 1 << 20, -1);  // no target has been given yet
  expect_unknown(layout_of({.pattern = 0x100}));                // with the metadata
  expect_unknown(layout_of({.unit = 0}));
  expect_unknown(layout_of({.targets = 0}));
  expect_unknown(layout_of({.targets = 0xffff}));  // "all", however many that are
  expect_unknown(layout_of({.magic = 0x0bd70bd0}));
  expect_unknown({});
}

TEST(Lustre, CompositeLayouts) {
  const Layout metadata = layout_of({.pattern = 0x100, .targets = 0, .indices = {}});
  const Layout small = layout_of({.targets = 1, .indices = {3}});
  const Layout large = layout_of({.magic = 0x0bd30bd0, .targets = 32, .indices = {5, 6}});
  expect_striping(composite_of({small, large}), 1, 1 << 20, 3);
  expect_striping(composite_of({metadata, large}), 32, 1 << 20, 5);
  expect_unknown(composite_of({metadata}));
  expect_unknown(composite_of({}));
  expect_unknown(composite_of({composite_of({small})}));
}

TEST(Lustre, DamagedLayoutsAreUnknownAndHarmless) {
  const Layout whole = composite_of({layout_of({.pattern = 0x100}), layout_of({})});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    // A copy of exactly that size, so that reading behind it is seen by the address sanitizer.
    const Layout cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    expect_unknown(cut);
  }
  Random random(11);
  for (int round = 0; round < 20000; ++round) {
    Layout damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    Striping striping;
    if (lustre::parse_layout(damaged, &striping)) {
      EXPECT_GT(striping.targets, 0);
      EXPECT_GT(striping.unit_bytes, 0);
    }
  }
}

struct Asked {
  std::uint32_t unit;
  std::uint16_t targets;
  std::uint16_t first;
};

Asked asked_for(const Striping& wanted) {
  const lustre::LayoutRequest request = lustre::make_request(wanted);
  Asked asked{};
  std::uint32_t magic = 0;
  std::memcpy(&magic, request.data(), 4);
  EXPECT_EQ(magic, 0x0bd10bd0u);
  std::memcpy(&asked.unit, request.data() + 24, 4);
  std::memcpy(&asked.targets, request.data() + 28, 2);
  std::memcpy(&asked.first, request.data() + 30, 2);
  return asked;
}

void expect_asked(const Striping& wanted, std::uint32_t unit, std::uint16_t targets, std::uint16_t first) {
  const Asked asked = asked_for(wanted);
  EXPECT_EQ(asked.unit, unit);
  EXPECT_EQ(asked.targets, targets);
  EXPECT_EQ(asked.first, first);
}

TEST(Lustre, RequestsAreWhatCanBeHad) {
  expect_asked({8, 4 << 20, 2}, 4 << 20, 8, 2);
  expect_asked({}, 0, 0, 0xffff);
  expect_asked({1, 1, 0}, 64 << 10, 1, 0);  // the next unit that Lustre has
  expect_asked({5000, (Count{1} << 40) + 1, 70000}, 0xffff0000, 2000, 0xffff);
  expect_asked({-3, -1, -7}, 0, 0, 0xffff);
}

/// Lustre over an ordinary folder: what is opened for a layout has none until control() gives it one, and a
/// file that is opened otherwise gets the default.
class PlayedLustre final : public StripingSystem {
 public:
  int open(const char* path, int flags, unsigned permissions) override {
    constexpr int kWithout = lustre::kOpenWithoutLayout & ~(O_NOCTTY | O_ASYNC);
    opened.push_back(flags);
    const bool without = (flags & lustre::kOpenWithoutLayout) == lustre::kOpenWithoutLayout;
    const int fd = ::open(path, flags & ~(kWithout | O_ASYNC), permissions);
    if (fd >= 0 && !without && !layouts.contains(inode(fd))) layouts[inode(fd)] = layout_of({.targets = 1});
    return fd;
  }
  int type_of_folder(const char* path, std::uint32_t* type) override {
    folders.push_back(path);
    *type = kind;
    return 0;
  }
  int type_of_file(int, std::uint32_t* type) override {
    *type = kind;
    return 0;
  }
  ssize_t attribute(int fd, const char* name, void* value, std::size_t bytes) override {
    EXPECT_STREQ(name, "lustre.lov");
    const auto found = layouts.find(inode(fd));
    if (found == layouts.end()) errno = ENODATA;
    if (found != layouts.end() && found->second.size() > bytes) errno = ERANGE;
    if (found == layouts.end() || found->second.size() > bytes) return -1;
    std::memcpy(value, found->second.data(), found->second.size());
    return static_cast<ssize_t>(found->second.size());
  }
  int control(int fd, unsigned long request, void* argument) override {
    EXPECT_EQ(request, 0x4008669aul);
    if (refusal != 0 || layouts.contains(inode(fd))) {
      errno = refusal != 0 ? refusal : EEXIST;
      return -1;
    }
    Plain made;
    std::memcpy(&made.unit, static_cast<std::byte*>(argument) + 24, 4);
    std::memcpy(&made.targets, static_cast<std::byte*>(argument) + 28, 2);
    std::uint16_t first = 0;
    std::memcpy(&first, static_cast<std::byte*>(argument) + 30, 2);
    made.targets = std::min<std::uint16_t>(made.targets == 0 ? 1 : made.targets, 4);  // there are four
    if (made.unit == 0) made.unit = 1 << 20;
    made.indices = {first == 0xffff ? 3u : first};
    layouts[inode(fd)] = layout_of(made);
    return 0;
  }

  std::uint32_t kind = lustre::kFileSystemType;
  int refusal = 0;
  std::map<ino_t, Layout> layouts;
  std::vector<int> opened;  // flags
  std::vector<std::string> folders;

 private:
  static ino_t inode(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
  }
};

struct Outcome {
  Striping striping;
  std::vector<std::string> told;
};

Outcome open_with(const std::shared_ptr<PlayedLustre>& system, const std::string& name,
                  const Striping& wanted, bool create = true, bool exclusive = false) {
  PosixParts parts;
  parts.system = system;
  Outcome outcome;
  OpenHow how{.read = true, .write = true, .create = create, .exclusive = exclusive};
  how.striping = wanted;
  how.tell = [&outcome](const std::string& line) { outcome.told.push_back(line); };
  std::unique_ptr<FileDriver> driver;
  EXPECT_EQ(make_posix_storage(std::move(parts))->open(name, how, &driver), 0);
  if (driver == nullptr) return outcome;
  outcome.striping = driver->striping();
  std::byte byte{7};
  const FilePiece piece{0, &byte, 1};
  EXPECT_EQ(driver->write_at({&piece, 1}).bytes, 1);
  return outcome;
}

class Striped : public ::testing::Test {
 protected:
  std::shared_ptr<PlayedLustre> system = std::make_shared<PlayedLustre>();
  FileName there;
  std::string fresh = there.text() + "-fresh";
  void TearDown() override { ::unlink(fresh.c_str()); }
};

TEST_F(Striped, AFileIsMadeAsItIsWanted) {
  const Outcome made = open_with(system, fresh, {3, 2 << 20, 1}, true, true);
  EXPECT_EQ(made.striping.targets, 3);
  EXPECT_EQ(made.striping.unit_bytes, 2 << 20);
  EXPECT_EQ(made.striping.first_target, 1);
  EXPECT_TRUE(made.told.empty());
  EXPECT_EQ(system->folders[0] + "/", fresh.substr(0, system->folders[0].size() + 1));
  // And found so by a process that opens it later, whatever it wants.
  const Outcome found = open_with(system, fresh, {2, 0, -1}, false);
  EXPECT_EQ(found.striping.targets, 3);
}

TEST_F(Striped, WhatCannotBeHadIsToldHintByHint) {
  const Outcome made = open_with(system, fresh, {100, 100 << 10, 2});
  EXPECT_EQ(made.striping.targets, 4);
  EXPECT_EQ(made.striping.unit_bytes, 128 << 10);
  ASSERT_EQ(made.told.size(), 2u);
  EXPECT_EQ(made.told[0], "striping_factor = 100: the file has 4");
  EXPECT_EQ(made.told[1], "striping_unit = 102400: the file has 131072");
}

TEST_F(Striped, AFileThatWasThereKeepsItsOwn) {
  open_with(system, there.text(), {});
  const Outcome found = open_with(system, there.text(), {4, 0, -1});
  EXPECT_EQ(found.striping.targets, 1);
  ASSERT_EQ(found.told.size(), 1u);
  EXPECT_NE(found.told[0].find("it was there before"), std::string::npos) << found.told[0];
}

TEST_F(Striped, ARefusalLeavesAnOrdinaryFile) {
  for (const int refusal : {EINVAL, EPERM, EOPNOTSUPP, ENOTTY}) {
    ::unlink(fresh.c_str());
    system->layouts.clear();
    system->refusal = refusal;
    system->opened.clear();
    const Outcome made = open_with(system, fresh, {4, 0, -1}, true, true);
    EXPECT_EQ(made.striping.targets, 1);
    ASSERT_EQ(made.told.size(), 1u);
    EXPECT_NE(made.told[0].find(std::strerror(refusal)), std::string::npos) << made.told[0];
    ASSERT_EQ(system->opened.size(), 2u);
    EXPECT_EQ(system->opened[1] & O_EXCL, 0);  // it is there now
    EXPECT_NE(system->opened[1] & lustre::kOpenWithoutLayout, lustre::kOpenWithoutLayout);
  }
}

TEST_F(Striped, OtherFileSystemsTellNoTargets) {
  system->kind = 0xef53;
  const Outcome made = open_with(system, fresh, {4, 1 << 20, 0});
  EXPECT_EQ(made.striping.targets, 0);
  EXPECT_GT(made.striping.unit_bytes, 0);
  EXPECT_EQ(made.striping.first_target, -1);
  ASSERT_EQ(made.told.size(), 1u);
  for (const int flags : system->opened)
    EXPECT_NE(flags & lustre::kOpenWithoutLayout, lustre::kOpenWithoutLayout);
}

TEST_F(Striped, NothingWantedAsksNobody) {
  const Outcome made = open_with(system, fresh, {});
  EXPECT_TRUE(system->folders.empty());
  EXPECT_TRUE(made.told.empty());
}

TEST(Striping, OfTheFolderForTemporaryFiles) {
  const FileName name;
  std::unique_ptr<FileDriver> driver;
  ASSERT_EQ(make_posix_storage()->open(name.get(), {.read = true}, &driver), 0);
  EXPECT_GT(driver->striping().unit_bytes, 0);
}

}  // namespace
}  // namespace tasuki::test
