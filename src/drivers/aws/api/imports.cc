#include "drivers/aws/api/imports.h"

#include "cloud/outcome.h"
#include "cloud/pages.h"
#include "driver/if_exists.h"
#include "drivers/aws/api/ec2.h"

namespace nodepool::drivers::aws {

using async::Task;

namespace {

ImportTask read_snapshot_task(const cloud::XmlElement& item) {
  const cloud::XmlElement detail = item.child("snapshotTaskDetail");
  ImportTask task{.kind = ImportKind::snapshot,
                  .id = item.text("importTaskId"),
                  .status = detail.text_or("status"),
                  .message = detail.text_or("statusMessage"),
                  .image_id = {},
                  .snapshot_ids = {},
                  .tags = read_tags(item)};
  std::string made = detail.text_or("snapshotId");
  if (!made.empty()) task.snapshot_ids.push_back(std::move(made));
  return task;
}

ImportTask read_image_task(const cloud::XmlElement& item) {
  ImportTask task{.kind = ImportKind::image,
                  .id = item.text("importTaskId"),
                  .status = item.text_or("status"),
                  .message = item.text_or("statusMessage"),
                  .image_id = item.text_or("imageId"),
                  .snapshot_ids = {},
                  .tags = read_tags(item)};
  for (const cloud::XmlElement& detail : item.items("snapshotDetailSet")) {
    std::string made = detail.text_or("snapshotId");
    if (!made.empty()) task.snapshot_ids.push_back(std::move(made));
  }
  return task;
}

// One page of a list, the token of the next one, and the size of the response.
struct TaskPage {
  std::vector<ImportTask> tasks;
  std::string next;
  std::size_t bytes = 0;
};

Task<TaskPage> ask_page(Caller& caller, ImportKind kind, Query query) {
  const bool is_image = kind == ImportKind::image;
  Call call{.action = is_image ? "DescribeImportImageTasks" : "DescribeImportSnapshotTasks"};
  const cloud::XmlElement answer = co_await caller.ask(std::move(call), std::move(query));
  TaskPage page{.tasks = {}, .next = answer.text_or("nextToken"), .bytes = answer.document_size()};
  for (const cloud::XmlElement& item :
       answer.list(is_image ? "importImageTaskSet" : "importSnapshotTaskSet")) {
    page.tasks.push_back(is_image ? read_image_task(item) : read_snapshot_task(item));
  }
  co_return page;
}

}  // namespace

Task<std::string> Imports::begin(ImportKind kind, Query query) {
  Call call{.action = kind == ImportKind::image ? "ImportImage" : "ImportSnapshot",
            .precedence = http::Precedence::creation,
            .creates = true,
            .has_token = true};
  const cloud::XmlElement answer = co_await caller_.ask(std::move(call), std::move(query));
  co_return cloud::read_outcome(true, [&answer] { return answer.text("importTaskId"); });
}

Task<std::vector<ImportTask>> Imports::tasks(ImportKind kind) {
  std::vector<ImportTask> found;
  cloud::Pages pages("ec2: import tasks");
  while (true) {
    Query query;
    query.add_if_any("NextToken", pages.next());
    TaskPage page = co_await ask_page(caller_, kind, std::move(query));
    for (ImportTask& task : page.tasks) found.push_back(std::move(task));
    if (!pages.turn(std::move(page.next), page.bytes, found.size())) co_return found;
  }
}

Task<std::optional<ImportTask>> Imports::task(ImportKind kind, std::string id) {
  Query query;
  query.add("ImportTaskId.1", id);
  const auto page = co_await driver::if_exists(ask_page(caller_, kind, std::move(query)));
  if (!page) co_return std::nullopt;
  for (const ImportTask& task : page->tasks) {
    if (task.id == id) co_return task;
  }
  co_return std::nullopt;
}

Task<> Imports::cancel(std::string id) {
  Query query;
  query.add("ImportTaskId", id);
  Call call{.action = "CancelImportTask", .about = id, .precedence = http::Precedence::removal};
  co_await driver::if_exists(caller_.ask(std::move(call), std::move(query)));
}

}  // namespace nodepool::drivers::aws
