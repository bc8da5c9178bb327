#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "builder/agenda.h"
#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/orders.h"
#include "builder/retries.h"

namespace nodepool::builder {

// A provider and an image that it lists.
using UploadPair = std::pair<std::string, std::string>;

// What is to be uploaded, shared by all upload workers.
class UploadAgenda {
 public:
  explicit UploadAgenda(const BuilderContext& context);

  Agenda<UploadPair>& pairs() { return agenda_; }

  // Uploads that somebody wants and waits for. Who places one calls pairs().look_at().
  Orders<UploadPair>& orders() { return orders_; }

  // Nothing new is begun.
  void close() {
    agenda_.close();
    orders_.close();
  }

  // The build to upload next: what has been ordered, or the newest; null if there is none.
  const model::ImageBuild* next_build(const UploadPair& pair) const;

  // Something about the image may have changed.
  void look_at_image(const std::string& image);

  UploadVerdict judge(const UploadPair& pair) const;

  // An upload has ended. Returns how long the pair is left alone if it has failed.
  async::Duration failed(const UploadPair& pair, const std::string& build_id);
  void succeeded(const UploadPair& pair) { retries_.forget(pair); }
  // What made the last attempt fail may have been changed.
  void reconfigured(const std::string& provider);

 private:
  std::optional<async::Clock::TimePoint> due(const UploadPair& pair) const;

  const BuilderContext& context_;
  Retries<UploadPair> retries_;
  std::map<UploadPair, std::string> failed_build_;  // a newer build is tried at once
  Orders<UploadPair> orders_;
  Agenda<UploadPair> agenda_;
};

}  // namespace nodepool::builder
