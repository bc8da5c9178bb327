#include "builder/decisions.h"

#include <gmock/gmock.h>

#include <deque>

namespace nodepool::builder {
namespace {

using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// Records of one image, written in this order. Pointers to them remain valid.
class Records {
 public:
  void build(const std::string& id, BuildState state, double time,
             std::vector<std::string> formats = {"qcow2"}) {
    ImageBuild& build = builds_.emplace_front();
    build.id = id;
    build.stat.czxid = static_cast<std::int64_t>(builds_.size());
    build.formats = std::move(formats);
    build.set_state(state, time);
  }
  void upload(const std::string& build, const std::string& provider, const std::string& id,
              UploadState state, double time = 1) {
    ImageUpload& upload = uploads_.emplace_back();
    upload.build_id = build;
    upload.provider = provider;
    upload.id = id;
    upload.set_state(state, time);
  }

  Builds builds() const {
    Builds pointers;
    for (const ImageBuild& build : builds_) pointers.push_back(&build);
    std::ranges::sort(pointers, std::greater(), &ImageBuild::state_time);
    return pointers;
  }
  Uploads uploads() const {
    Uploads pointers;
    for (const ImageUpload& upload : uploads_) pointers.push_back(&upload);
    return pointers;
  }

 private:
  std::deque<ImageBuild> builds_;
  std::deque<ImageUpload> uploads_;
};

template <typename Record>
std::vector<std::string> ids(const std::vector<const Record*>& records) {
  std::vector<std::string> ids;
  for (const Record* record : records) {
    if constexpr (std::is_same_v<Record, ImageUpload>) {
      ids.push_back(record->build_id + "/" + record->provider + "/" + record->id);
    } else {
      ids.push_back(record->id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

// --- builds

struct BuildCase {
  const char* what;
  std::optional<BuildState> state;  // of the only build, of time 1000
  std::vector<std::string> has;
  std::set<std::string> wants;
  bool paused = false;
  bool paused_in_file = false;
  bool requested = false;
  bool being_built = false;
  std::set<std::string> own = {};                   // formats of the image itself
  std::optional<std::set<std::string>> local = {};  // that are on this disk
  std::optional<double> due = {};
  BuildReason reason = BuildReason::too_old;
};

TEST(BuildDecision, says_when_an_image_is_to_be_built) {
  const BuildCase cases[] = {
      {.what = "no build",
       .state = {},
       .has = {},
       .wants = {"raw"},
       .due = 0,
       .reason = BuildReason::none_ready},
      {.what = "fresh", .state = BuildState::ready, .has = {"raw"}, .wants = {"raw"}, .due = 1100},
      {.what = "more formats than needed",
       .state = BuildState::ready,
       .has = {"qcow2", "raw"},
       .wants = {"raw"},
       .due = 1100},
      {.what = "a format is missing",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"qcow2", "raw"},
       .due = 0,
       .reason = BuildReason::formats_missing},
      {.what = "a format can be converted",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw", "vmdk"},
       .local = {{"raw"}},
       .due = 1100},
      {.what = "it has been converted, and nobody has written that down",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw", "vmdk"},
       .local = {{"vmdk"}},
       .due = 1100},
      {.what = "what it could be converted from is gone",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw", "vmdk"},
       .local = {{"vhd"}},
       .due = 0,
       .reason = BuildReason::formats_missing},
      {.what = "one of two can be converted",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw", "tgz", "vmdk"},
       .local = {{"raw"}},
       .due = 0,
       .reason = BuildReason::formats_missing},
      {.what = "no upload will convert it",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw", "vmdk"},
       .own = {"vmdk"},
       .local = {{"raw"}},
       .due = 0,
       .reason = BuildReason::formats_missing},
      {.what = "failed",
       .state = BuildState::failed,
       .has = {},
       .wants = {"raw"},
       .due = 0,
       .reason = BuildReason::none_ready},
      {.what = "deleted",
       .state = BuildState::deleting,
       .has = {"raw"},
       .wants = {"raw"},
       .due = 0,
       .reason = BuildReason::none_ready},
      {.what = "requested",
       .state = BuildState::ready,
       .has = {"raw"},
       .wants = {"raw"},
       .requested = true,
       .due = 0,
       .reason = BuildReason::requested},
      {.what = "paused",
       .state = {},
       .has = {},
       .wants = {"raw"},
       .paused = true,
       .requested = true},
      {.what = "paused in the file",
       .state = {},
       .has = {},
       .wants = {"raw"},
       .paused_in_file = true,
       .requested = true},
      {.what = "nobody wants it", .state = {}, .has = {}, .wants = {}, .requested = true},
      {.what = "being built", .state = {}, .has = {}, .wants = {"raw"}, .being_built = true},
  };
  for (const BuildCase& one : cases) {
    Records records;
    if (one.state) records.build("b1", *one.state, 1000, one.has);
    config::DiskImage image;
    image.rebuild_age = 100;
    image.pause = one.paused_in_file;
    image.formats = one.own;
    const BuildVerdict verdict = evaluate_build({.image = image,
                                                 .formats = one.wants,
                                                 .paused = one.paused,
                                                 .requested = one.requested,
                                                 .being_built = one.being_built,
                                                 .builds = records.builds(),
                                                 .local = one.local ? &*one.local : nullptr});
    EXPECT_EQ(verdict.due, one.due) << one.what;
    if (one.due) EXPECT_EQ(verdict.reason, one.reason) << one.what;
  }
}

TEST(BuildDecision, goes_by_the_newest_build_that_is_ready) {
  Records records;
  records.build("old", BuildState::ready, 10);
  records.build("new", BuildState::ready, 20);
  records.build("failed", BuildState::failed, 30);
  EXPECT_EQ(newest_ready(records.builds())->id, "new");
}

// --- uploads

TEST(UploadDecision, says_whether_the_newest_build_is_to_be_uploaded) {
  struct Case {
    const char* what;
    UploadVerdict verdict;
    bool has_build = true;
    std::optional<std::set<std::string>> local = std::set<std::string>{"qcow2", "raw"};
    std::string format = "qcow2";
    std::optional<UploadState> upload = {};
    bool paused = false;
    bool being_uploaded = false;
  };
  const Case cases[] = {
      {.what = "nothing there yet", .verdict = UploadVerdict::due},
      {.what = "failed before", .verdict = UploadVerdict::due, .upload = UploadState::failed},
      {.what = "deleted", .verdict = UploadVerdict::due, .upload = UploadState::deleting},
      {.what = "there", .verdict = UploadVerdict::uploaded, .upload = UploadState::ready},
      {.what = "paused", .verdict = UploadVerdict::paused, .paused = true},
      {.what = "no build", .verdict = UploadVerdict::no_build, .has_build = false},
      {.what = "files elsewhere", .verdict = UploadVerdict::not_here, .local = {}},
      {.what = "only the manifest is left",
       .verdict = UploadVerdict::not_here,
       .local = std::set<std::string>{}},
      {.what = "this file is gone",
       .verdict = UploadVerdict::not_here,
       .local = std::set<std::string>{"vhd"}},
      {.what = "can be converted",
       .verdict = UploadVerdict::due,
       .local = std::set<std::string>{"raw"}},
      {.what = "never built, can be converted", .verdict = UploadVerdict::due, .format = "vhd"},
      {.what = "never built",
       .verdict = UploadVerdict::wrong_format,
       .local = std::set<std::string>{"vhd"},
       .format = "vmdk"},
      {.what = "nobody can make it", .verdict = UploadVerdict::wrong_format, .format = "tgz"},
      {.what = "at work",
       .verdict = UploadVerdict::being_uploaded,
       .upload = UploadState::uploading,
       .being_uploaded = true},
  };
  for (const Case& one : cases) {
    Records records;
    records.build("b1", BuildState::ready, 1, {"qcow2", "raw"});
    if (one.upload) records.upload("b1", "sky", "1", *one.upload);
    EXPECT_EQ(evaluate_upload({.paused = one.paused,
                               .build = one.has_build ? records.builds().front() : nullptr,
                               .format = one.format,
                               .local = one.local ? &*one.local : nullptr,
                               .uploads = records.uploads(),
                               .being_uploaded = one.being_uploaded}),
              one.verdict)
        << one.what;
  }
}

// --- clean-up

// All actions of a plan as texts, for readable differences.
std::vector<std::string> described(const CleanupPlan& plan) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& what, const std::vector<std::string>& named) {
    for (const std::string& id : named) lines.push_back(what + " " + id);
  };
  add("abandoned", ids(plan.abandoned));
  add("unwanted", ids(plan.unwanted));
  add("remove", ids(plan.to_remove));
  add("unwanted build", ids(plan.unwanted_builds));
  add("gone", ids(plan.gone));
  add("unneeded files of", ids(plan.unneeded_files));
  return lines;
}

std::vector<std::string> plan_for(const Records& records, CleanupInput question) {
  question.builds = records.builds();
  question.uploads = records.uploads();
  return described(plan_cleanup(question));
}

const CleanupInput kListed{.configured = true, .providers = {{"sky", true}}};

TEST(CleanupDecision, keeps_the_two_newest_builds_and_uploads) {
  Records records;
  for (const int i : {1, 2, 3, 4}) {
    const std::string id = "b" + std::to_string(i);
    records.build(id, BuildState::ready, i);
    records.upload(id, "sky", "1", UploadState::ready, i);
  }
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("unwanted b1/sky/1", "unwanted b2/sky/1"));
}

TEST(CleanupDecision, an_old_build_lives_on_while_an_upload_of_it_is_one_of_the_newest) {
  Records records;
  for (const int i : {1, 2, 3, 4}) {
    records.build("b" + std::to_string(i), BuildState::ready, i);
  }
  records.upload("b1", "sky", "1", UploadState::ready, 1);
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("unwanted build b2"));
}

TEST(CleanupDecision, an_old_upload_stays_while_nodes_are_made_from_it) {
  Records records;
  for (const int i : {1, 2, 3}) {
    const std::string id = "b" + std::to_string(i);
    records.build(id, BuildState::ready, i);
    records.upload(id, "sky", "1", UploadState::ready, i);
  }
  CleanupInput question = kListed;
  for (const ImageUpload* upload : records.uploads()) question.in_use.insert(upload);
  EXPECT_THAT(plan_for(records, question), ElementsAre("unneeded files of b1"));
  question.providers["sky"] = false;
  EXPECT_THAT(plan_for(records, question), ElementsAre("unwanted b1/sky/1", "unwanted b2/sky/1",
                                                       "unwanted b3/sky/1", "unneeded files of b1"))
      << "the provider is not to have it";
}

TEST(CleanupDecision, files_stay_while_an_old_build_is_being_uploaded) {
  Records records;
  for (const int i : {1, 2, 3}) {
    const std::string id = "b" + std::to_string(i);
    records.build(id, BuildState::ready, i);
    records.upload(id, "sky", "1", i == 1 ? UploadState::uploading : UploadState::ready, i);
  }
  CleanupInput question = kListed;
  question.being_uploaded = {{"b1", "sky"}};
  // As while the records of nodes are not known.
  for (const ImageUpload* upload : records.uploads()) question.in_use.insert(upload);
  EXPECT_THAT(plan_for(records, question), IsEmpty());
}

TEST(CleanupDecision, a_requested_deletion_ignores_nodes_of_the_image) {
  Records records;
  records.build("b1", BuildState::deleting, 1);
  records.upload("b1", "sky", "1", UploadState::ready);
  CleanupInput question = kListed;
  for (const ImageUpload* upload : records.uploads()) question.in_use.insert(upload);
  EXPECT_THAT(plan_for(records, question), ElementsAre("unwanted b1/sky/1"));
}

TEST(CleanupDecision, uploads_go_in_steps) {
  Records records;
  for (const int i : {1, 2, 3}) records.build("b" + std::to_string(i), BuildState::ready, i);
  records.upload("b1", "sky", "1", UploadState::deleting);
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("remove b1/sky/1", "unwanted build b1"))
      << "the files go before a slow cloud has done its part";
  Records later;
  later.build("b1", BuildState::deleting, 1);
  later.upload("b1", "sky", "1", UploadState::deleting);
  EXPECT_THAT(plan_for(later, kListed), ElementsAre("remove b1/sky/1"));
  Records last;
  last.build("b1", BuildState::deleting, 1);
  EXPECT_THAT(plan_for(last, kListed), ElementsAre("gone b1"));
}

TEST(CleanupDecision, a_resumable_upload_stays_while_it_is_needed) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  records.upload("b1", "sky", "1", UploadState::failed);
  records.upload("b1", "sky", "2", UploadState::uploading);
  CleanupInput question = kListed;
  question.resuming = {"sky"};
  EXPECT_THAT(plan_for(records, question), ElementsAre("unwanted b1/sky/1"));
  CleanupInput lost = question;
  lost.lost = {"b1"};
  EXPECT_THAT(plan_for(records, lost), ElementsAre("abandoned b1/sky/2", "unwanted b1/sky/1"));
  CleanupInput unlisted = question;
  unlisted.providers["sky"] = false;
  EXPECT_THAT(plan_for(records, unlisted), Contains("abandoned b1/sky/2"));
  CleanupInput unknown = question;
  unknown.configured = false;
  EXPECT_THAT(plan_for(records, unknown), Contains("abandoned b1/sky/2"));
  records.build("b2", BuildState::ready, 2);
  EXPECT_THAT(plan_for(records, question), Contains("abandoned b1/sky/2"))
      << "there is a newer one";
}

TEST(UploadDecision, only_the_last_upload_is_resumed) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  EXPECT_EQ(interrupted_upload(records.uploads()), nullptr);
  records.upload("b1", "sky", "1", UploadState::uploading);
  EXPECT_EQ(interrupted_upload(records.uploads())->id, "1");
  records.upload("b1", "sky", "2", UploadState::uploading);
  EXPECT_EQ(interrupted_upload(records.uploads())->id, "2");
  records.upload("b1", "sky", "3", UploadState::failed);
  EXPECT_EQ(interrupted_upload(records.uploads()), nullptr) << "that one was begun after it";
}

TEST(CleanupDecision, uploads_in_progress_stay_and_abandoned_ones_are_removed) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  records.upload("b1", "sky", "1", UploadState::uploading);
  records.build("b2", BuildState::building, 2);
  CleanupInput working = kListed;
  working.being_built = true;
  working.being_uploaded = {{"b1", "sky"}};
  EXPECT_THAT(plan_for(records, working), IsEmpty());
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("abandoned b1/sky/1", "unwanted build b2"));
  records.build("b3", BuildState::building, 3);
  EXPECT_THAT(plan_for(records, working), ElementsAre("unwanted build b2"))
      << "only one of them can have the lock";
}

TEST(CleanupDecision, the_last_build_that_began_is_in_progress_even_if_its_clock_is_behind) {
  Records records;
  records.build("b1", BuildState::building, 20);
  records.build("b2", BuildState::building, 10);
  CleanupInput working = kListed;
  working.being_built = true;
  EXPECT_THAT(plan_for(records, working), ElementsAre("unwanted build b1"));
}

TEST(CleanupDecision, the_records_of_the_last_failures_stay) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  records.upload("b1", "sky", "1", UploadState::failed);
  records.upload("b1", "sky", "2", UploadState::failed);
  records.build("b2", BuildState::failed, 2);
  records.build("b3", BuildState::failed, 3);
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("unwanted b1/sky/1", "unwanted build b2"));
  records.build("b4", BuildState::ready, 4);
  EXPECT_THAT(plan_for(records, kListed),
              ElementsAre("unwanted b1/sky/1", "unwanted build b2", "unwanted build b3"));
}

// The attempt may fail before the failed build that it replaces has been marked.
TEST(CleanupDecision, the_last_failure_stays_while_the_failure_before_it_is_deleted) {
  Records records;
  records.build("b1", BuildState::deleting, 3);
  records.build("b2", BuildState::failed, 2);
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("gone b1"));
}

TEST(CleanupDecision, a_provider_that_lists_the_image_no_longer_loses_all_its_uploads) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  records.upload("b1", "sky", "1", UploadState::ready);
  records.upload("b1", "sky", "2", UploadState::failed);
  EXPECT_THAT(plan_for(records, {.configured = true, .providers = {{"sky", false}}}),
              ElementsAre("unwanted b1/sky/1", "unwanted b1/sky/2"));
}

TEST(CleanupDecision, uploads_of_other_providers_are_left_alone) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  for (const UploadState state :
       {UploadState::ready, UploadState::failed, UploadState::deleting, UploadState::uploading}) {
    records.upload("b1", "elsewhere", std::string(to_string(state)), state);
  }
  EXPECT_THAT(plan_for(records, kListed), IsEmpty());
  EXPECT_THAT(plan_for(records, {.configured = false, .providers = {{"sky", true}}}), IsEmpty())
      << "its uploads keep the build";
}

TEST(CleanupDecision, an_image_that_is_no_longer_configured_is_deleted) {
  Records records;
  records.build("b1", BuildState::ready, 1);
  records.build("b2", BuildState::failed, 2);
  records.build("b3", BuildState::ready, 3);
  records.upload("b3", "sky", "1", UploadState::ready);
  // Its only upload is one of the newest uploads of ready builds, until no provider lists it.
  EXPECT_THAT(plan_for(records, {.configured = false, .providers = {{"sky", false}}}),
              ElementsAre("unwanted b3/sky/1", "unwanted build b1", "unwanted build b2"));
}

// Builders whose configurations differ, for example while a new one is rolled out.
TEST(CleanupDecision, a_build_of_another_builder_has_some_time_for_its_first_upload) {
  Records records;
  records.build("b1", BuildState::ready, 1000);
  CleanupInput unknown{.of_others = {"b1"}, .now = 1599};
  EXPECT_THAT(plan_for(records, unknown), IsEmpty());
  unknown.builds = records.builds();
  EXPECT_EQ(plan_cleanup(unknown).next, 1600);
  unknown.now = 1600;
  EXPECT_THAT(plan_for(records, unknown), ElementsAre("unwanted build b1"));
  EXPECT_EQ(plan_cleanup(unknown).next, std::nullopt);
  unknown = {.now = 1001};
  EXPECT_THAT(plan_for(records, unknown), ElementsAre("unwanted build b1")) << "its own";
  unknown.of_others = {"b1"};
  records.upload("b1", "sky", "1", UploadState::deleting);
  EXPECT_THAT(plan_for(records, unknown), ElementsAre("unwanted build b1")) << "it had its upload";
}

TEST(CleanupDecision, a_build_in_state_deleting_loses_its_uploads) {
  Records records;
  records.build("b1", BuildState::deleting, 1);
  records.upload("b1", "sky", "1", UploadState::ready);
  records.upload("b1", "elsewhere", "1", UploadState::ready);
  EXPECT_THAT(plan_for(records, kListed), ElementsAre("unwanted b1/sky/1"));
}

// --- local files

TEST(FileDecision, says_which_formats_go) {
  Records records;
  records.build("ready", BuildState::ready, 1);
  records.build("building", BuildState::building, 2);
  records.build("deleting", BuildState::deleting, 3);
  const Builds builds = records.builds();
  const ImageBuild* deleting = builds[0];
  const ImageBuild* building = builds[1];
  const ImageBuild* ready = builds[2];
  const std::set<std::string> local{"qcow2", "raw", "vhd"};
  config::DiskImage keeps;
  config::DiskImage deletes;
  deletes.delete_after_upload = true;
  deletes.keep_formats = {"vhd"};
  EXPECT_EQ(formats_to_delete(&keeps, nullptr, local, {}), local) << "no such build";
  EXPECT_EQ(formats_to_delete(&keeps, deleting, local, {}), local);
  EXPECT_THAT(formats_to_delete(&keeps, ready, local, {}), IsEmpty());
  EXPECT_THAT(formats_to_delete(&deletes, building, local, {}), IsEmpty());
  EXPECT_THAT(formats_to_delete(&deletes, ready, local, {}), ElementsAre("qcow2", "raw"));
  EXPECT_THAT(formats_to_delete(&deletes, ready, local,
                                {{.format = "raw", .has_upload = true},
                                 {.format = "qcow2", .has_upload = true},
                                 {.format = "qcow2", .has_upload = false}}),
              ElementsAre("raw"))
      << "one provider still needs it";
  EXPECT_THAT(formats_to_delete(&deletes, ready, local, {{.format = "vmdk", .has_upload = false}}),
              ElementsAre("qcow2"))
      << "vmdk is made from raw";
  EXPECT_THAT(formats_to_delete(&deletes, ready, local, {{.format = "vmdk", .has_upload = true}}),
              ElementsAre("qcow2", "raw"));
  EXPECT_THAT(formats_to_delete(&deletes, ready, local, {{.format = "", .has_upload = false}}),
              IsEmpty())
      << "it may need any of them";
}

}  // namespace
}  // namespace nodepool::builder
