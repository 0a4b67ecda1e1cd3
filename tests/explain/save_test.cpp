#include "dynaflow/explain/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "explain/timelines.h"

namespace dynaflow {
namespace {

using ::testing::HasSubstr;

class Saved : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path in_folder(const std::string& name) const {
    return folder_ / name;
  }

 private:
  static std::filesystem::path new_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dynaflow-XXXXXX").string();
    return mkdtemp(name.data());
  }

  std::filesystem::path folder_ = new_folder();
};

TEST_F(Saved, RunIsLoadedAsItWas) {
  ASSERT_TRUE(save(leapfrog(), in_folder("run.json")));
  EXPECT_EQ(load_timeline(in_folder("run.json")).value(), leapfrog());
}

TEST_F(Saved, PageIsNamedAsItsFile) {
  ASSERT_TRUE(save(leapfrog(), in_folder("run.html")));
  std::ifstream file(in_folder("run.html"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("<title>run</title>"));
}

TEST_F(Saved, RunNeedsASuffixThatIsKnown) {
  const auto saved = save(leapfrog(), in_folder("run.txt"));
  ASSERT_FALSE(saved);
  EXPECT_TRUE(saved.error().broke(kBadFile));
}

TEST_F(Saved, RunNeedsAFolder) {
  const auto saved = save(leapfrog(), in_folder("nowhere") / "run.json");
  ASSERT_FALSE(saved);
  EXPECT_THAT(to_string(saved.error()), HasSubstr("No such file"));
}

TEST_F(Saved, RunThatIsNotThereIsRefused) {
  const auto loaded = load_timeline(in_folder("run.json"));
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().broke(kBadFile));
  EXPECT_THAT(to_string(loaded.error()), HasSubstr("No such file"));
}

TEST_F(Saved, FolderIsNoRun) { EXPECT_TRUE(load_timeline(in_folder("")).error().broke(kBadFile)); }

TEST_F(Saved, DocumentOfAnotherKindIsRefusedWithItsFile) {
  std::ofstream(in_folder("run.json")) << "{}";
  const auto loaded = load_timeline(in_folder("run.json"));
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().broke(kBadTimeline));
  EXPECT_THAT(loaded.error().first().where, HasSubstr("run.json, saved timeline"));
}

}  // namespace
}  // namespace dynaflow
