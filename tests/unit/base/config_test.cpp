// What is read from the surroundings. window_rules() reads once for a process, so those tests run in a child each.
#include "base/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "unit/support/folder.hpp"
#include "unit/support/program.hpp"

namespace sill {
namespace {

using test::Folder;
using test::write_text;

constexpr const char* variables[] = {"SILL_CONFIG",  "SILL_WINDOWS", "SILL_JOB_ID", "XDG_CONFIG_HOME", "HOME",
                                     "SLURM_JOB_ID", "PBS_JOBID",    "FLUX_JOB_ID", "LSB_JOBID",       "LSB_JOBINDEX",
                                     "JOB_ID",       "SGE_ROOT",     "SGE_TASK_ID"};

// A test with an environment of its own.
class Surroundings : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const char* name : variables) {
      const char* value = ::getenv(name);
      before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      ASSERT_EQ(::unsetenv(name), 0);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      EXPECT_EQ(value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str()), 0);
    }
  }
  static void set(const char* name, const std::string& value) { ASSERT_EQ(::setenv(name, value.c_str(), 1), 0); }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

// Ends the child of a test with what window_rules() says on standard error.
[[noreturn]] void print_rules() {
  const auto& rules = window_rules();
  if (!rules.ok()) std::fprintf(stderr, "error: %s\n", rules.status().message().c_str());
  if (rules.ok()) std::fprintf(stderr, "%zu rules", rules.value().size());
  if (rules.ok()) {
    for (const auto& [key, value] : rules.value()) std::fprintf(stderr, ";%s=%s", key.c_str(), value.c_str());
  }
  ::exit(rules.ok() ? 0 : 1);
}

testing::ExitedWithCode good(0);
testing::ExitedWithCode refused(1);

class WindowRules : public Surroundings {};

TEST_F(WindowRules, AreEmptyWithoutAny) { EXPECT_EXIT(print_rules(), good, "^0 rules$"); }

TEST_F(WindowRules, ComeFromTheVariable) {
  set("SILL_WINDOWS", "alloc_type=storage,storage_alloc_filename=/s/%r");
  EXPECT_EXIT(print_rules(), good, "^2 rules;alloc_type=storage;storage_alloc_filename=/s/%r$");
}

TEST_F(WindowRules, ComeFromTheNamedFile) {
  const Folder folder;
  write_text(folder / "mine.toml", "[windows]\nalloc_type = 'memory'\n");
  set("SILL_CONFIG", folder / "mine.toml");
  EXPECT_EXIT(print_rules(), good, "^1 rules;alloc_type=memory$");
}

TEST_F(WindowRules, ComeFromTheConfigurationFolderElseFromHome) {
  const Folder folder;
  write_text(folder / "home/.config/sill/sill.toml", "[windows]\nfile_perm = '0640'\n");
  set("HOME", folder / "home");
  EXPECT_EXIT(print_rules(), good, "^1 rules;file_perm=0640$");
  write_text(folder / "xdg/sill/sill.toml", "[windows]\nfile_perm = '0660'\n");
  set("XDG_CONFIG_HOME", folder / "xdg");
  EXPECT_EXIT(print_rules(), good, "^1 rules;file_perm=0660$");
}

TEST_F(WindowRules, NeverComeFromTheCurrentFolder) {
  const Folder folder;
  write_text(folder / "sill.toml", "[windows]\nfile_perm = '0640'\n");
  write_text(folder / "sill/sill.toml", "[windows]\nfile_perm = '0640'\n");
  write_text(folder / ".config/sill/sill.toml", "[windows]\nfile_perm = '0640'\n");
  set("HOME", ".");
  set("XDG_CONFIG_HOME", ".");
  const auto before = std::filesystem::current_path();
  EXPECT_EXIT((std::filesystem::current_path(folder.path()), print_rules()), good, "^0 rules$");
  EXPECT_EQ(std::filesystem::current_path(), before);
}

TEST_F(WindowRules, AHomeThatIsNoFolderIsNone) {
  set("HOME", "/dev/null");
  EXPECT_EXIT(print_rules(), good, "^0 rules$");
}

TEST_F(WindowRules, ANamedFileMustBeReadable) {
  const Folder folder;
  set("SILL_CONFIG", folder / "missing.toml");
  EXPECT_EXIT(print_rules(), refused, "error: SILL_CONFIG: .*missing.toml: No such file");
  set("SILL_CONFIG", folder.path());
  EXPECT_EXIT(print_rules(), refused, "error: SILL_CONFIG: .*Is a directory");
  set("SILL_CONFIG", "/dev/zero");
  EXPECT_EXIT(print_rules(), refused, "error: SILL_CONFIG: /dev/zero: is larger than 1 MiB");
}

TEST_F(WindowRules, ABadRuleIsTheSameErrorEachTime) {
  set("SILL_WINDOWS", "alloc_type=disk");
  const auto ask_twice = [] {
    if (&window_rules() == &window_rules()) print_rules();
    ::exit(2);
  };
  EXPECT_EXIT(ask_twice(), refused, "error: SILL_WINDOWS: alloc_type=disk: expected");
}

TEST(ReadRules, TheVariableGoesBeforeTheFileKeyByKey) {
  const auto rules =
      read_rules("storage_alloc_factor=0.5,stripe_count=2",
                 "[windows]\nstriping_factor = 8\nstorage_alloc_factor = 0.25\nalloc_type = 'memory'\n", "f");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_EQ(rules.value(),
            (HintPairs{{"storage_alloc_factor", "0.5"}, {"striping_factor", "2"}, {"alloc_type", "memory"}}));
}

TEST(ReadRules, ErrorsSayWhereTheyCameFrom) {
  EXPECT_EQ(read_rules("", "[windows]\nx = 1\n", "/c/sill.toml").status().message(), "/c/sill.toml:2: unknown key 'x'");
  EXPECT_EQ(read_rules("x=1", "", "").status().message(), "SILL_WINDOWS: unknown key 'x'");
  const auto value = read_rules("storage_alloc_offset=12abc", "", "");
  EXPECT_TRUE(value.status().message().starts_with("SILL_WINDOWS: storage_alloc_offset=12abc: "));
}

class JobName : public Surroundings {};

TEST_F(JobName, IsLocalWithoutABatchSystem) { EXPECT_EQ(job_name(), "local"); }

TEST_F(JobName, ComesFromSillsVariableFirst) {
  set("SLURM_JOB_ID", "42");
  EXPECT_EQ(job_name(), "42");
  set("SILL_JOB_ID", "mine");
  EXPECT_EQ(job_name(), "mine");
}

TEST_F(JobName, KnowsEachBatchSystem) {
  for (const auto& [name, id] : {std::pair("SLURM_JOB_ID", "7"), {"PBS_JOBID", "7.head"}, {"FLUX_JOB_ID", "f2Ab"}}) {
    set(name, id);
    EXPECT_EQ(job_name(), id);
    ASSERT_EQ(::unsetenv(name), 0);
  }
}

TEST_F(JobName, TellsTheTasksOfAnArrayApart) {
  set("LSB_JOBID", "7");
  set("LSB_JOBINDEX", "0");
  EXPECT_EQ(job_name(), "7");
  set("LSB_JOBINDEX", "3");
  EXPECT_EQ(job_name(), "7.3");
  ASSERT_EQ(::unsetenv("LSB_JOBID"), 0);
  set("JOB_ID", "9");
  EXPECT_EQ(job_name(), "local") << "JOB_ID without SGE";
  set("SGE_ROOT", "/opt/sge");
  set("SGE_TASK_ID", "undefined");
  EXPECT_EQ(job_name(), "9");
  set("SGE_TASK_ID", "2");
  EXPECT_EQ(job_name(), "9.2");
}

TEST_F(Surroundings, HostNameIsTheMachines) {
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(host_name(), name);
}

// A copy of this program that runs as another user than the one who starts it: then no variable may be believed.
TEST_F(Surroundings, AreNotBelievedWithRaisedPrivileges) {
  if (::getenv("SILL_TEST_PRIVILEGED")) {
    EXPECT_NE(::geteuid(), ::getuid());
    EXPECT_EQ(environment("SILL_TEST_PRIVILEGED"), "");
    EXPECT_TRUE(window_rules().ok());
    if (std::fflush(nullptr) != 0) ::_exit(2);
    ::_exit(HasFailure() ? 1 : 0);  // not by main(): LeakSanitizer may not look into such a program at its end
  }
  set("SILL_WINDOWS", "alloc_type=disk");
  EXPECT_EQ(environment("SILL_WINDOWS"), "alloc_type=disk");
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: makes a set-user-id copy of itself";
  const Folder folder;
  struct statvfs mount;
  ASSERT_EQ(::statvfs(folder.path().c_str(), &mount), 0);
  if (mount.f_flag & ST_NOSUID)
    GTEST_SKIP() << "needs set-user-id programs, which " << folder.path() << " doesn't allow";
  const std::string copy = folder / "copy";
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(::chown(copy.c_str(), nobody, static_cast<gid_t>(-1)), 0);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  const auto outcome = test::run_program({copy, "--gtest_filter=Surroundings.AreNotBelievedWithRaisedPrivileges"},
                                         {"SILL_TEST_PRIVILEGED=1"});
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
}  // namespace sill
