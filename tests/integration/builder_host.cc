#include "tests/integration/builder_host.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <utility>

namespace nodepool::integration {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr char kScript[] = R"(#!/bin/sh
echo $$ > pid
echo half > $DIB_IMAGE_FILENAME.qcow2
echo making formats $NODEPOOL_IMAGE_FORMATS
while [ -e hold ]; do sleep 0.02; done
echo whole > $DIB_IMAGE_FILENAME.qcow2
)";

}  // namespace

BuilderHost::BuilderHost(std::string records) : records_(std::move(records)) {
  if (records_.empty()) {
    records_ = "store: sqlite://" + (directory() / "nodepool.db").string() + "\n";
  }
  site_.directory().write("clouds.yaml", "clouds:\n  fake: {auth: {}}\n");
  replace_script(kScript);
  configure();
}

BuilderHost::~BuilderHost() {
  if (testing::Test::HasFailure()) std::cerr << "The builder's log:\n" << log();
}

void BuilderHost::configure(const BuilderSettings& settings) {
  const std::string root = directory().string();
  const std::string command = ", builder: command, command: " + root + "/make-image}\n";
  // Replaced in one step, so that no reader sees half a file.
  const fs::path next = site_.directory().write(
      "nodepool.yaml.new",
      records_ + settings.more + "images-dir: " + root + "/images\nbuild-log-dir: " + root +
          "/logs\ndiskimages:\n" + "  - {name: deb" + command + "  - {name: raw" + command +
          "providers:\n  - name: " + settings.provider +
          "\n    driver: fake\n    cloud: fake\n    pools: []\n" + "    diskimages: [{name: " +
          settings.image + "}]\n    fake-cloud: {latency: " + settings.latency + "}\n");
  fs::rename(next, directory() / "nodepool.yaml");
}

void BuilderHost::replace_script(const std::string& script) {
  fs::permissions(site_.directory().write("make-image", script), fs::perms::owner_all);
}

void BuilderHost::hold() {
  site_.directory().write("hold", "");
}

void BuilderHost::end_hold() {
  fs::remove(directory() / "hold");
}

void BuilderHost::start(const std::vector<std::string>& options) {
  std::vector<std::string> command{NODEPOOL_BINARIES "/nodepool-builder", "-d", "-c",
                                   directory() / "nodepool.yaml"};
  command.insert(command.end(), options.begin(), options.end());
  earlier_logs_ = log();
  builder_ = std::make_unique<Child>(command,
                                     test_support::ChildOptions{.working_directory = directory()});
}

void BuilderHost::kill() {
  builder_->signal(SIGKILL);
  builder_->wait();
}

int BuilderHost::stop(int signal) {
  builder_->signal(signal);
  return builder_->wait();
}

json BuilderHost::records(const std::string& listing) const {
  return site_.json({listing});
}

std::vector<json> BuilderHost::records(const std::string& listing, const std::string& state) const {
  std::vector<json> rows = records(listing);
  std::erase_if(rows, [&state](const json& row) { return row.at("state") != state; });
  return rows;
}

void BuilderHost::wait_for(const std::string& listing, const std::string& state,
                           std::size_t rows) const {
  if (builder_) wait_for_output("Serving ");  // before that there may be no store
  site_.wait_until(std::to_string(rows) + " rows with " + state + " in " + listing,
                   [&] { return records(listing, state).size() == rows; });
}

void BuilderHost::wait_for_output(const std::string& text) const {
  site_.wait_until("the builder says: " + text, [&] { return log().contains(text); });
}

void BuilderHost::wait_for_half_an_image() const {
  site_.wait_until("half an image", [this] { return files().size() == 2; });
}

void BuilderHost::expect_good_end() const {
  site_.wait_until("one build and one upload, both ready", [this] {
    return records("dib-image-list").size() == 1 &&
           records("dib-image-list", "ready").size() == 1 && records("image-list").size() == 1 &&
           records("image-list", "ready").size() == 1;
  });
  const std::string build = records("dib-image-list").at(0).at("id");
  EXPECT_EQ(test_support::read_file(images() / (build + ".qcow2")), "whole\n");
  site_.wait_until("no files of others", [this] { return files().size() == 4; });
}

std::string BuilderHost::log() const {
  if (!builder_) return earlier_logs_;
  return earlier_logs_ + builder_->standard_output() + builder_->standard_error();
}

std::vector<std::string> BuilderHost::files() const {
  std::vector<std::string> found;
  if (!fs::exists(images())) return found;
  for (const auto& entry : fs::directory_iterator(images())) {
    found.push_back(entry.path().filename());
  }
  return found;
}

}  // namespace nodepool::integration
