#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "builder/image_builder.h"
#include "driver/driver.h"

namespace nodepool::builder {

// Controls and observes the clouds of `driver: sky`.
struct Sky {
  struct Image {
    std::string name;
    driver::ImageFile file;
    driver::Metadata metadata;
  };

  async::Duration start_time{};        // of a provider
  std::set<std::string> cannot_start;  // providers
  std::set<std::string> without_file;  // providers whose accounts and formats are not known
  async::Duration upload_time{};
  std::set<std::string> broken;         // providers whose calls fail
  bool resumes = false;                 // interrupted uploads are resumed
  bool cannot_delete = false;           // deletions fail
  async::Duration deletion_time{};      // of an image
  int uploads = 0;                      // started so far
  int deletions = 0;                    // requested so far
  std::map<std::string, Image> images;  // by id

  async::Duration launch_time{};
  std::deque<driver::LaunchError> launch_failures;  // of the next launches
  bool cannot_take_back = false;
  int launches = 0;                             // started so far
  std::map<std::string, std::string> machines;  // the image of each, by node
};

// A driver with image support: `image-format`, `diskimages` (a list of `name`, `pause`, and
// `validate` with a `command`), and `post-upload-hook`.
class SkyDriver final : public driver::Driver {
 public:
  explicit SkyDriver(std::shared_ptr<Sky> sky) : sky_(std::move(sky)) {}

  std::string_view name() const override { return "sky"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::unique_ptr<driver::Provider> provider(std::shared_ptr<const driver::ProviderConfig> config,
                                             driver::ProviderContext context) const override;

 private:
  std::shared_ptr<Sky> sky_;
};

// Controls and observes builds.
struct Workshop {
  async::Duration build_time{};
  std::map<std::string, int> exit_codes;  // of images whose builds fail
  bool cannot_start = false;              // the program
  std::vector<std::string> built;         // names, in order of their starts
  int under_way = 0;
  int most_under_way = 0;

  async::Duration conversion_time{};
  int conversion_exit_code = 0;
  std::vector<std::string> converted;  // names of the requested files
};

// Creates placeholder files, in virtual time.
class BuilderDouble final : public ImageBuilder {
 public:
  BuilderDouble(ProgramContext site, std::shared_ptr<Workshop> workshop)
      : ImageBuilder(std::move(site)), workshop_(std::move(workshop)) {}

 protected:
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;

 private:
  std::shared_ptr<Workshop> workshop_;
};

// Converts to placeholder files, in virtual time.
class ConverterDouble final : public FormatConverter {
 public:
  ConverterDouble(ProgramContext site, std::shared_ptr<Workshop> workshop)
      : FormatConverter(std::move(site)), workshop_(std::move(workshop)) {}

 protected:
  Task<ProgramEnd> run(std::vector<std::string> arguments, std::int64_t build_timeout,
                       const BuildLog& log) override;

 private:
  std::shared_ptr<Workshop> workshop_;
};

}  // namespace nodepool::builder
