// Tests builds with real programs, in real time.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "builder/conversion.h"
#include "builder/format_converter.h"
#include "builder/image_store.h"
#include "builder/program_builders.h"
#include "config/command_line.h"
#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::builder {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test_support::read_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const std::string kProgramsId(32, '7');

class ProgramsTest : public testing::Test {
 public:
  ~ProgramsTest() override { fs::current_path(directory_before_); }

 protected:
  ProgramsTest() { fs::create_directories(images()); }

  const fs::path directory_before_ = fs::current_path();  // the directory of a test is deleted

  fs::path images() const { return directory_.path() / "images"; }
  fs::path log() const { return directory_.path() / "logs" / ("deb-" + kProgramsId + ".log"); }

  // A program with this shell script.
  std::string script(const std::string& body) {
    const fs::path path = directory_.write("make", "#!/bin/sh\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  BuildJob job(const std::string& command, std::set<std::string> formats = {"raw"}) {
    BuildJob job{.image = {},
                 .build_id = kProgramsId,
                 .formats = std::move(formats),
                 .elements_dir = "/elements",
                 .logs = {.directory = directory_.path() / "logs", .retention = 2},
                 .store = ImageStore(images())};
    job.image.name = "deb";
    job.image.release = "bookworm";
    job.image.command = command;
    job.image.dib_cmd = command;
    job.image.env_vars = {{"SECRET", "of the image"}};
    return job;
  }

  ProgramContext site() {
    return {runtime_, threads_, {{"PATH", path_}, {"SECRET", "of the host"}}, milliseconds(200)};
  }

  BuildResult build(BuildJob job) {
    CommandImageBuilder builder(site());
    return loop_.run(builder.build(std::move(job)));
  }

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(images())) {
      found.push_back(entry.path().filename().string().substr(("deb-" + kProgramsId).size()));
    }
    std::ranges::sort(found);
    return found;
  }

  // Returns when the killed process with the id in the file has ended. CTest limits the time.
  static void wait_until_gone(const fs::path& pid_file) {
    const std::string pid = read_file(pid_file).substr(0, read_file(pid_file).find('\n'));
    while (::kill(static_cast<pid_t>(std::stol(pid)), 0) == 0) {
      const auto status = std::ifstream("/proc/" + pid + "/stat");
      std::stringstream text;
      text << status.rdbuf();
      if (text.str().contains(") Z ")) return;  // only init has not reaped it yet
    }
  }

  test_support::TemporaryDirectory directory_;
  std::string path_ = "/usr/bin:/bin";  // where programs are looked up
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{2, "test"};
};

TEST_F(ProgramsTest, a_program_finds_what_to_make_in_its_environment) {
  const BuildResult result = build(job(script(R"(
    echo "$DIB_IMAGE_NAME $DIB_RELEASE $ELEMENTS_PATH $NODEPOOL_IMAGE_FORMATS $SECRET $1"
    echo to standard error >&2
    test "$NODEPOOL_BUILD_ID" = 77777777777777777777777777777777 || exit 3
    head -c 1000 /dev/zero > $DIB_IMAGE_FILENAME.raw
    head -c 1000 /dev/zero > $DIB_IMAGE_FILENAME.vhd
  )") + " 'an argument'",
                                       {"raw", "vhd"}));
  EXPECT_EQ(result.kind, BuildResult::Kind::ready) << result.problem;
  EXPECT_EQ(read_file(log()),
            "deb bookworm /elements raw,vhd of the image an argument\n"
            "to standard error\nExit code: 0\n");
  EXPECT_THAT(files(),
              ElementsAre(".raw", ".raw.md5", ".raw.sha256", ".vhd", ".vhd.md5", ".vhd.sha256"));
  const driver::ImageFile file = ImageStore(images()).file("deb", kProgramsId, "raw");
  EXPECT_EQ(file.md5, "ede3d3b685b4e137ba4cb2521329a75e");
  EXPECT_EQ(file.sha256, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
}

TEST_F(ProgramsTest, diskimage_builder_is_called_as_ever) {
  BuildJob wanted = job(script(R"(
    for argument; do echo "<$argument>"; done
    while [ "$1" != -o ]; do shift; done
    for format in qcow2 raw; do echo image > $2.$format; done
    printf '%032d' 1 > $2.raw.md5; printf '%064d' 2 > $2.raw.sha256
    mkdir $2.d
  )") + " --debug",
                        {"qcow2", "raw"});
  wanted.image.elements = {"vm", "my element"};
  DibImageBuilder builder(site());
  const BuildResult result = loop_.run(builder.build(wanted));
  EXPECT_EQ(result.kind, BuildResult::Kind::ready) << result.problem;
  EXPECT_EQ(read_file(log()),
            "<--debug>\n<-x>\n<-t>\n<qcow2,raw>\n<--checksum>\n<--no-tmpfs>\n"
            "<--qemu-img-options>\n<compat=0.10>\n<-o>\n<" +
                wanted.output() + ">\n<vm>\n<my>\n<element>\nExit code: 0\n");
  EXPECT_EQ(wanted.store.file("deb", kProgramsId, "raw").md5, std::string(31, '0') + "1")
      << "the builder's own checksums count";
  EXPECT_EQ(wanted.store.file("deb", kProgramsId, "qcow2").md5.size(), 32);
}

TEST_F(ProgramsTest, a_format_that_is_missing_is_converted) {
  const BuildResult result =
      build(job(script("truncate -s 1M $DIB_IMAGE_FILENAME.raw"), {"qcow2", "raw", "vmdk"}));
  ASSERT_EQ(result.kind, BuildResult::Kind::ready) << result.problem;
  EXPECT_THAT(files(), testing::Contains(".vmdk.sha256"));
  EXPECT_THAT(files(), Not(testing::Contains(HasSubstr("partial"))));
  const auto info = test_support::run(
      {"qemu-img", "info", (images() / ("deb-" + kProgramsId + ".vmdk")).string()});
  EXPECT_THAT(info.output, HasSubstr("file format: vmdk"));
}

TEST_F(ProgramsTest, what_diskimage_builder_does_not_know_is_made_from_what_it_does) {
  DibImageBuilder builder(site());
  const BuildResult result = loop_.run(builder.build(job(script(R"(
    while [ "$1" != -t ]; do shift; done; echo "$2"
    while [ "$1" != -o ]; do shift; done; truncate -s 1M $2.raw
  )"),
                                                         {"vdi"})));
  ASSERT_EQ(result.kind, BuildResult::Kind::ready) << result.problem;
  EXPECT_THAT(read_file(log()), testing::StartsWith("raw\n"));
  EXPECT_THAT(files(), ElementsAre(".vdi", ".vdi.md5", ".vdi.sha256"));
}

TEST_F(ProgramsTest, a_failure_leaves_its_log_and_no_files) {
  const BuildResult result = build(
      job(script("echo half > $DIB_IMAGE_FILENAME.raw; mkdir $DIB_IMAGE_FILENAME.d; exit 7")));
  EXPECT_EQ(result.kind, BuildResult::Kind::failed);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.problem, HasSubstr("exit code 7; its output is in " + log().string()));
  EXPECT_EQ(read_file(log()), "Exit code: 7\n");
  EXPECT_THAT(files(), IsEmpty());
}

// As on a full disk.
TEST_F(ProgramsTest, a_program_that_makes_an_empty_image_has_failed) {
  const BuildResult result = build(job(script("touch $DIB_IMAGE_FILENAME.raw")));
  EXPECT_NE(result.kind, BuildResult::Kind::ready);
  EXPECT_THAT(result.problem, HasSubstr("the program succeeded, but " + images().string()));
  EXPECT_THAT(result.problem, HasSubstr(".raw is empty"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ProgramsTest, directories_of_images_can_be_read_whatever_the_umask_of_the_builder) {
  const mode_t before = ::umask(0077);
  build(job(script("umask; touch \"$DIB_IMAGE_FILENAME.raw\"")));
  ::umask(before);
  EXPECT_THAT(read_file(log()), HasSubstr("0022"));
}

TEST_F(ProgramsTest, a_killed_program_has_failed) {
  const BuildResult result = build(job(script("kill -9 $$")));
  EXPECT_EQ(result.kind, BuildResult::Kind::failed);
  EXPECT_EQ(result.exit_code, -9);
}

TEST_F(ProgramsTest, a_missing_file_is_an_error) {
  const BuildResult result = build(job(script("true"), {"tgz"}));
  EXPECT_EQ(result.kind, BuildResult::Kind::broken);
  EXPECT_THAT(result.problem,
              HasSubstr("did not create " + images().string() + "/deb-" + kProgramsId + ".tgz"));
}

TEST_F(ProgramsTest, a_missing_program_is_an_error) {
  const BuildResult result = build(job("/no/such/program"));
  EXPECT_EQ(result.kind, BuildResult::Kind::broken);
  EXPECT_THAT(result.problem, HasSubstr("cannot run /no/such/program"));
  EXPECT_THAT(read_file(log()), HasSubstr("cannot run /no/such/program"));
  DibImageBuilder builder(site());
  EXPECT_THAT(loop_.run(builder.build(job("/no/such/program"))).problem,
              HasSubstr("No such file or directory; install diskimage-builder"));
  EXPECT_EQ(build(job("'open quotation")).kind, BuildResult::Kind::broken);
}

TEST_F(ProgramsTest, a_program_that_takes_too_long_ends_with_all_its_children) {
  BuildJob slow = job(script(R"(
    trap '' TERM
    sh -c 'trap "" TERM; sleep 1000 & echo $! > child.pid; wait' &
    echo half > $DIB_IMAGE_FILENAME.raw
    while true; do sleep 1000; done
  )"));
  slow.image.build_timeout = 1;
  fs::current_path(directory_.path());
  const BuildResult result = build(slow);
  EXPECT_EQ(result.kind, BuildResult::Kind::failed);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.problem, HasSubstr("timed out after 1 s (build-timeout)"));
  EXPECT_EQ(read_file(log()), "Timed out after 1 s (build-timeout)\n");
  wait_until_gone(directory_.path() / "child.pid");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ProgramsTest, a_program_that_is_called_off_can_clean_up_behind_itself) {
  CommandImageBuilder builder(site());
  std::string escaped;
  async::TaskScope scope(runtime_,
                         [&escaped](const auto&, const std::string& error) { escaped = error; });
  bool returned = false;
  auto run = [](CommandImageBuilder& builder, BuildJob job, bool& returned) -> Task<> {
    co_await builder.build(std::move(job));
    returned = true;
  };
  const fs::path done = directory_.path() / "cleaned-up";
  scope.spawn("build", run(builder,
                           job(script("trap 'echo > " + done.string() + "; exit 1' TERM; echo > " +
                                      log().string() + ".started; sleep 1000 & wait")),
                           returned));
  auto wait_for_start = [](async::Clock& clock, fs::path path) -> Task<> {
    while (!fs::exists(path)) co_await clock.sleep_for(milliseconds(5));
  };
  loop_.run(wait_for_start(clock_, log().string() + ".started"));
  loop_.run(scope.stop());
  EXPECT_TRUE(fs::exists(done));
  EXPECT_FALSE(returned);
  EXPECT_EQ(escaped, "");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ProgramsTest, children_that_are_left_over_end_with_the_program) {
  fs::current_path(directory_.path());
  EXPECT_EQ(build(job(script("sleep 1000 & echo $! > child.pid; exit 1"))).exit_code, 1);
  wait_until_gone(directory_.path() / "child.pid");
}

// A descendant outside the program's process group and session, reparented, and ignoring SIGTERM.
// The script continues when it runs.
constexpr char kRunaway[] = R"(
    setsid sh -c '(trap "" TERM; sh -c "echo \$PPID > child.pid"; sleep 1000) & exit' &
    wait
    while [ ! -s child.pid ]; do sleep 0.01; done
)";

TEST_F(ProgramsTest, processes_in_another_session_end_with_the_program) {
  fs::current_path(directory_.path());
  EXPECT_EQ(build(job(script(kRunaway + std::string("exit 7")))).exit_code, 7);
  wait_until_gone(directory_.path() / "child.pid");
}

TEST_F(ProgramsTest, processes_in_another_session_end_with_a_program_that_times_out) {
  fs::current_path(directory_.path());
  for (const char* end : {"sleep 1000", "trap '' TERM; while true; do sleep 1000; done"}) {
    BuildJob slow = job(script(kRunaway + std::string(end)));
    slow.image.build_timeout = 1;
    EXPECT_THAT(build(slow).problem, HasSubstr("timed out after 1 s (build-timeout)"));
    wait_until_gone(directory_.path() / "child.pid");
    fs::remove(directory_.path() / "child.pid");
  }
}

TEST_F(ProgramsTest, a_program_gets_no_descriptors_of_the_builder) {
  int open_to_children[2];
  ASSERT_EQ(::pipe(open_to_children), 0);
  // The shell has no open pipes of its own then.
  EXPECT_EQ(
      build(job(script(
                "for open in /proc/$$/fd/*; do readlink $open >> $DIB_IMAGE_FILENAME.open; done; "
                "grep pipe: $DIB_IMAGE_FILENAME.open | sort -u | wc -l; exit 7")))
          .exit_code,
      7);
  EXPECT_EQ(read_file(log()), "1\nExit code: 7\n") << "that of its output";
  ::close(open_to_children[0]);
  ::close(open_to_children[1]);
}

TEST_F(ProgramsTest, a_log_has_a_limit_and_the_build_goes_on) {
  BuildJob noisy =
      job(script("echo first; yes 0123456789 | head -n 1000000; echo last >&2; "
                 "echo image > $DIB_IMAGE_FILENAME.raw"));
  noisy.logs.limit = 10'000;
  EXPECT_EQ(build(noisy).kind, BuildResult::Kind::ready);
  const std::string text = read_file(log());
  EXPECT_THAT(text, testing::StartsWith("first\n0123456789\n"));
  EXPECT_THAT(text, testing::EndsWith("0123456789\nlast\nExit code: 0\n"));
  // 11,000,011 bytes in total, with 5,000 before and after the gap.
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n[... 10990011 bytes omitted: the log is limited to 10000 bytes (build-log-limit)]\n"));
  EXPECT_LT(text.size(), 10'200);
}

TEST_F(ProgramsTest, old_logs_of_the_image_go) {
  const fs::path logs = directory_.path() / "logs";
  const auto put = [&](const std::string& name, int age) {
    const fs::path path = directory_.write("logs/" + name, "");
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(age));
  };
  for (const char digit : {'1', '2', '3', '4'}) {
    put("deb-" + std::string(32, digit) + ".log", digit - '0');
  }
  put("deb-0000000123.log", 9);  // of an old release of the Python Nodepool
  put("deb-minimal-" + std::string(32, '1') + ".log", 9);
  put("deb-notes.log", 9);
  EXPECT_EQ(build(job("true", {})).kind, BuildResult::Kind::ready);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(logs)) left.push_back(entry.path().filename());
  EXPECT_THAT(left, UnorderedElementsAre(
                        "deb-" + kProgramsId + ".log", "deb-" + std::string(32, '1') + ".log",
                        "deb-" + std::string(32, '2') + ".log",
                        "deb-minimal-" + std::string(32, '1') + ".log", "deb-notes.log"));
}

TEST_F(ProgramsTest, an_old_log_that_cannot_be_deleted_does_not_fail_the_build) {
  const fs::path logs = directory_.path() / "logs";
  for (const char digit : {'1', '2', '3', '4'}) {
    const std::string name = "deb-" + std::string(32, digit) + ".log";
    directory_.write("logs/" + name + (digit == '3' ? "/in a directory" : ""), "");
    fs::last_write_time(logs / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(digit - '0'));
  }
  const BuildResult result = build(job("true", {}));
  EXPECT_EQ(result.kind, BuildResult::Kind::ready);
  EXPECT_THAT(result.log_problem,
              HasSubstr("cannot delete " + (logs / ("deb-" + std::string(32, '3'))).string()));
  EXPECT_FALSE(fs::exists(logs / ("deb-" + std::string(32, '4') + ".log")));
}

TEST_F(ProgramsTest, a_full_disk_is_named_and_given_back) {
  ASSERT_EQ(::mount("tmpfs", images().c_str(), "tmpfs", 0, "size=1m"), 0)
      << "this test mounts a file system of 1 MiB, for which it has to run as root";
  const BuildResult result =
      build(job(script("dd if=/dev/zero of=$DIB_IMAGE_FILENAME.raw bs=1M count=10")));
  EXPECT_EQ(result.kind, BuildResult::Kind::failed);
  EXPECT_THAT(result.problem, HasSubstr("the disk of " + images().string() + " is full"));
  EXPECT_THAT(files(), IsEmpty());
  ::umount(images().c_str());
}

// --- conversions

class ConversionTest : public ProgramsTest {
 protected:
  // Installs this shell script as qemu-img; empty: none.
  void replace_qemu_img(const std::string& body) {
    const fs::path directory = directory_.path() / "programs";
    fs::create_directories(directory);
    if (!body.empty()) {
      const fs::path path = directory_.write("programs/qemu-img", "#!/bin/sh\n" + body);
      fs::permissions(path, fs::perms::owner_all);
    }
    path_ = directory;
  }

  fs::path file(const std::string& suffix) const {
    return images() / ("deb-" + kProgramsId + suffix);
  }

  Conversion to(const std::string& format, std::int64_t timeout = 60) const {
    return {.store = ImageStore(images()),
            .image = "deb",
            .build_id = kProgramsId,
            .formats = {"raw"},
            .format = format,
            .build_timeout = timeout};
  }

  // The error of the conversion.
  std::string failure(const Conversion& wanted) {
    const BuildLog log({.directory = directory_.path() / "logs"}, "deb", kProgramsId);
    FormatConverter converter(site());
    try {
      loop_.run(converter.convert(wanted, log));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(ConversionTest, makes_a_whole_file_or_none) {
  const fs::path raw =
      directory_.write("images/deb-" + kProgramsId + ".raw", std::string(1 << 20, 'x'));
  directory_.write("images/deb-" + kProgramsId + ".vmdk.partial",
                   "what a builder has left that died");
  EXPECT_EQ(failure(to("vmdk")), "");
  EXPECT_THAT(files(), ElementsAre(".raw", ".vmdk"));
  const auto compared =
      test_support::run({"qemu-img", "compare", raw.string(), file(".vmdk").string()});
  EXPECT_THAT(compared.output, HasSubstr("Images are identical"));

  fs::remove(raw);
  EXPECT_THAT(failure(to("vdi")),
              AllOf(HasSubstr("creating " + file(".vdi").string() + " with qemu-img failed"),
                    HasSubstr("exit code 1; see " + log().string())));
  EXPECT_THAT(read_file(log()), HasSubstr("Could not open"));
  EXPECT_THAT(files(), ElementsAre(".vmdk"));
}

TEST_F(ConversionTest, to_an_empty_file_has_failed) {
  replace_qemu_img("for target; do :; done; : > $target");
  EXPECT_THAT(failure(to("vmdk")), HasSubstr(file(".vmdk.partial").string() + " is empty"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ConversionTest, says_that_there_is_no_qemu_img) {
  replace_qemu_img("");
  EXPECT_THAT(failure(to("vmdk")), HasSubstr("cannot run qemu-img: No such file or directory"));
  EXPECT_THAT(read_file(log()), HasSubstr("cannot run qemu-img"));
}

TEST_F(ConversionTest, takes_no_longer_than_a_build_may) {
  replace_qemu_img("for target; do :; done; echo half > $target; exec /bin/sleep 1000");
  EXPECT_THAT(failure(to("vmdk", 1)), HasSubstr("timed out after 1 s (build-timeout)"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ConversionTest, names_a_full_disk_and_gives_it_back) {
  ASSERT_EQ(::mount("tmpfs", images().c_str(), "tmpfs", 0, "size=3m"), 0)
      << "this test mounts a file system of 3 MiB, for which it has to run as root";
  directory_.write("images/deb-" + kProgramsId + ".raw", std::string(2 << 20, 'x'));
  EXPECT_THAT(failure(to("qcow2")), HasSubstr("the disk of " + images().string() + " is full"));
  EXPECT_THAT(files(), ElementsAre(".raw"));
  ::umount(images().c_str());
}

TEST_F(ConversionTest, that_is_called_off_ends_qemu_img_and_what_it_has_started) {
  fs::current_path(directory_.path());
  replace_qemu_img(R"(
    for target; do :; done
    /bin/sleep 1000 & echo $! > child.pid
    echo half > $target
    wait
  )");
  const BuildLog log({.directory = directory_.path() / "logs"}, "deb", kProgramsId);
  FormatConverter converter(site());
  std::string escaped;
  async::TaskScope scope(runtime_,
                         [&escaped](const auto&, const std::string& error) { escaped = error; });
  scope.spawn("conversion", converter.convert(to("vmdk"), log));
  auto wait_for = [](async::Clock& clock, fs::path path) -> Task<> {
    while (!fs::exists(path)) co_await clock.sleep_for(milliseconds(5));
  };
  loop_.run(wait_for(clock_, file(".vmdk.partial")));
  loop_.run(scope.stop());
  wait_until_gone(directory_.path() / "child.pid");
  EXPECT_EQ(escaped, "");
  EXPECT_THAT(files(), IsEmpty());
}

// --- the parts

TEST(BoundedFile, has_its_beginning_its_end_and_what_is_missing) {
  const test_support::TemporaryDirectory directory;
  const fs::path path = directory.path() / "log";
  {
    BoundedFile file(path, 10);
    for (const char* text : {"abc", "de", "fghi", "", "j"}) file.write(text);
    EXPECT_EQ(read_file(path), "abcde") << "as it comes";
  }
  EXPECT_EQ(read_file(path), "abcdefghij") << "nothing is missing";
  fs::remove(path);
  {
    BoundedFile file(path, 10);
    for (char next = 'a'; next <= 'z'; ++next) file.write(std::string(1, next));
    file.write_end();
    file.write("Exit code: 0\n");
  }
  EXPECT_EQ(read_file(path),
            "abcde\n[... 16 bytes omitted: the log is limited to 10 bytes (build-log-limit)]\nvwxyz"
            "\n[... 8 bytes omitted: the log is limited to 10 bytes (build-log-limit)]\ne: 0\n");
}

TEST(BoundedFile, counts_what_does_not_fit_on_the_disk) {
  BoundedFile file("/dev/full", 1000);
  file.write("abc");
  file.write("de");
  EXPECT_EQ(file.lost(), 5U);
}

TEST(BuildLog, of_a_build_can_be_read_by_all_users_whatever_the_umask) {
  const test_support::TemporaryDirectory directory;
  const BuildLog::Settings settings{.directory = directory.path() / "nodepool" / "logs"};
  const mode_t before = ::umask(0077);
  const BuildLog hook(settings.below("hooks"), "deb", kProgramsId);
  const BuildLog log(settings, "deb", kProgramsId);
  ::umask(before);
  const auto mode = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  EXPECT_EQ(mode(log.path()), 0644U);
  EXPECT_EQ(mode(settings.directory), 0755U);
  EXPECT_EQ(mode(settings.directory.parent_path()), 0755U);
  EXPECT_EQ(mode(hook.path()), 0600U) << "hooks may print secrets";
  EXPECT_EQ(mode(hook.path().parent_path()), 0700U);

  fs::permissions(settings.directory, fs::perms::owner_all);
  const BuildLog next(settings, "deb", std::string(32, '8'));
  EXPECT_EQ(mode(settings.directory), 0700U) << "an operator has made it private";
}

TEST(CommandLine, is_split_as_a_shell_does) {
  EXPECT_THAT(config::split_command("a  b\tc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(config::split_command(R"(a 'b  c' "d \"e\" \n" f\ g h'i'"j" '')"),
              ElementsAre("a", "b  c", R"(d "e" \n)", "f g", "hij", ""));
  EXPECT_THROW(config::split_command("a 'b"), std::runtime_error);
  EXPECT_THROW(config::split_command("  "), std::runtime_error);
}

TEST(Conversion, starts_from_raw_or_qcow2) {
  EXPECT_EQ(conversion("o", {"vhd"}, "raw", "t"), std::nullopt);
  EXPECT_EQ(conversion("o", {"raw"}, "tgz", "t"), std::nullopt);
  EXPECT_THAT(*conversion("o", {"qcow2", "raw"}, "vhd", "t"),
              ElementsAre("qemu-img", "convert", "-f", "raw", "-O", "vpc", "-o",
                          "subformat=fixed,force_size=on", "o.raw", "t"));
}

TEST(Conversion, needs_a_source_and_a_format_that_is_known) {
  EXPECT_EQ(conversion_source({"qcow2", "raw"}, "vmdk"), "raw");
  EXPECT_EQ(conversion_source({"qcow2", "vhd"}, "raw"), "qcow2");
  EXPECT_EQ(conversion_source({"vhd"}, "raw"), std::nullopt);
  EXPECT_EQ(conversion_source({"raw"}, "tgz"), std::nullopt);
  EXPECT_TRUE(is_obtainable({"tgz"}, "tgz"));
  EXPECT_TRUE(is_obtainable({"raw"}, "vdi"));
  EXPECT_FALSE(is_obtainable({"vdi"}, "raw"));
  EXPECT_FALSE(is_obtainable({}, "raw"));
}

TEST(ImageStore, knows_builds_by_their_names) {
  EXPECT_EQ(parse_build_name("deb-12-" + kProgramsId), ImageStore::Key("deb-12", kProgramsId));
  EXPECT_EQ(parse_build_name("centos-7-0000000123"), ImageStore::Key("centos-7", "0000000123"));
  for (const std::string& name :
       {std::string("deb-123"), std::string("deb-000000012a"), "deb-" + kProgramsId + "7",
        kProgramsId, "-" + kProgramsId, "deb-" + std::string(32, 'g'), std::string()}) {
    EXPECT_EQ(parse_build_name(name), std::nullopt) << name;
  }
}

TEST(ImageStore, keeps_the_id_of_its_builder) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path() / "new");
  EXPECT_EQ(store.builder_id("one"), "one");
  EXPECT_EQ(store.builder_id("two"), "one");
  EXPECT_EQ(read_file(directory.path() / "new" / "builder_id.txt"), "one");
}

TEST(ImageStore, an_empty_id_of_its_builder_is_replaced) {
  const test_support::TemporaryDirectory directory;
  directory.write("builder_id.txt", "");
  const ImageStore store(directory.path());
  EXPECT_EQ(store.builder_id("one"), "one");
  EXPECT_EQ(store.builder_id("two"), "one");
}

TEST(ImageStore, a_full_disk_keeps_no_part_of_the_id_of_its_builder) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path());
  const fs::path incomplete = directory.path() / "builder_id.txt.new";
  fs::create_symlink("/dev/full", incomplete);
  EXPECT_THROW(store.builder_id("one"), std::runtime_error);
  EXPECT_FALSE(fs::exists(directory.path() / "builder_id.txt"));
  fs::remove(incomplete);
  EXPECT_EQ(store.builder_id("two"), "two");
}

TEST(ImageStore, has_no_empty_image_for_an_upload) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path());
  const fs::path file = directory.write("deb-" + kProgramsId + ".raw", "");
  const auto problem = [&store]() -> std::string {
    try {
      store.file("deb", kProgramsId, "raw");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(problem(), "the file is empty: " + file.string());
  fs::remove(file);
  EXPECT_EQ(problem(), "file not found: " + file.string());
}

TEST(ImageStore, removes_links_and_not_what_they_lead_to) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path() / "images");
  fs::create_directories(directory.path() / "images");
  const fs::path file = directory.write("elsewhere/file", "x");
  const fs::path base = directory.path() / "images" / ("deb-" + kProgramsId);
  fs::create_symlink(file, base.string() + ".raw");
  fs::create_directory_symlink(file.parent_path(), base.string() + ".d");
  fs::create_symlink(file, base.string() + ".qcow2.partial");
  store.remove_partials();
  store.remove("deb", kProgramsId);
  EXPECT_THAT(store.contents(), IsEmpty());
  EXPECT_EQ(read_file(file), "x");
}

TEST(ImageStore, what_cannot_be_removed_keeps_no_other_file) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path());
  const std::string name = "deb-" + kProgramsId;
  directory.write(name + ".d/manifest", "x");
  for (int i = 0; i < 20; ++i) directory.write(name + ".f" + std::to_string(i), "x");
  const fs::path fixed = directory.path() / (name + ".d");
  // Permissions do not restrict root.
  const bool is_mounted = ::mount("tmpfs", fixed.c_str(), "tmpfs", 0, "") == 0;
  if (!is_mounted && ::geteuid() == 0) GTEST_SKIP() << "root may not mount here";
  if (!is_mounted) fs::permissions(fixed, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THROW(store.remove("deb", kProgramsId), std::runtime_error);
  EXPECT_THAT(store.contents(),
              ElementsAre(testing::Pair(ImageStore::Key("deb", kProgramsId), IsEmpty())));
  if (is_mounted) ::umount2(fixed.c_str(), MNT_DETACH);
  fs::permissions(fixed, fs::perms::owner_all);
  store.remove("deb", kProgramsId);
  EXPECT_THAT(store.contents(), IsEmpty());
}

TEST(ImageStore, a_number_in_the_name_of_an_image_is_no_build) {
  const test_support::TemporaryDirectory directory;
  directory.write("ubuntu-2024010100.1-" + kProgramsId + ".qcow2", "x");
  EXPECT_THAT(ImageStore(directory.path()).contents(),
              ElementsAre(testing::Pair(ImageStore::Key("ubuntu-2024010100.1", kProgramsId),
                                        ElementsAre("qcow2"))));
}

TEST(ImageStore, a_partial_file_with_a_number_may_be_of_others) {
  const test_support::TemporaryDirectory directory;
  const fs::path foreign = directory.write("backup-2024010100.tar.partial", "x");
  const fs::path own = directory.write("deb-" + kProgramsId + ".qcow2.partial", "x");
  ImageStore(directory.path()).remove_partials();
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_FALSE(fs::exists(own));
}

TEST(ImageStore, lists_formats_and_no_other_files) {
  const test_support::TemporaryDirectory directory;
  const ImageStore store(directory.path());
  for (const char* suffix : {".raw", ".raw.md5", ".raw.sha256", ".d/manifest", ".qcow2.partial"}) {
    directory.write("a.b-c-" + kProgramsId + suffix, "x");
  }
  directory.write("other-" + kProgramsId + ".d/manifest", "x");
  directory.write("part-" + kProgramsId + ".qcow2-new", "x");
  directory.write("a.vhd-" + kProgramsId + ".vhd-intermediate", "x");
  directory.write("x-" + kProgramsId + "-new.raw", "x");
  directory.write("builder_id.txt", "x");
  EXPECT_THAT(store.contents(),
              ElementsAre(testing::Pair(ImageStore::Key("a.b-c", kProgramsId), ElementsAre("raw")),
                          testing::Pair(ImageStore::Key("a.vhd", kProgramsId), IsEmpty()),
                          testing::Pair(ImageStore::Key("other", kProgramsId), IsEmpty()),
                          testing::Pair(ImageStore::Key("part", kProgramsId), IsEmpty())));
  directory.write("notes.partial", "x");
  store.remove_partials();
  EXPECT_FALSE(
      std::filesystem::exists(directory.path() / ("a.b-c-" + kProgramsId + ".qcow2.partial")));
  EXPECT_TRUE(std::filesystem::exists(directory.path() / ("a.b-c-" + kProgramsId + ".raw.md5")));
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "notes.partial"));
  directory.write("a.b-c-" + kProgramsId + ".qcow2.partial", "x");
  store.remove("a.b-c", kProgramsId);
  EXPECT_FALSE(
      std::filesystem::exists(directory.path() / ("a.b-c-" + kProgramsId + ".qcow2.partial")));
  for (const char* image : {"other", "part", "a.vhd"}) store.remove(image, kProgramsId);
  EXPECT_THAT(store.contents(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::builder
