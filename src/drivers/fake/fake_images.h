#pragma once

#include "driver/images.h"
#include "drivers/fake/fake_client.h"

namespace nodepool::drivers::fake {

// The images of a FakeCloud. Does not read their files.
class FakeImages final : public driver::ImageSupport {
 public:
  explicit FakeImages(FakeClient client) : client_(std::move(client)) {}

  Task<std::string> upload(driver::ProviderImage image, std::string name, driver::ImageFile file,
                           driver::Metadata metadata, Progress progress) override;
  Task<> remove(std::string name, std::string external_id) override;
  Task<std::vector<driver::CloudImage>> list() override;

 private:
  FakeClient client_;
};

}  // namespace nodepool::drivers::fake
