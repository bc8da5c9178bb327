#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::aws {

// An AMI or a snapshot of the account's own.
struct OwnThing {
  std::string name;         // of an AMI
  std::string snapshot;     // of an AMI
  std::string description;  // of a snapshot
  std::string state = "completed";
  std::map<std::string, std::string> tags;
  std::map<int, int> blocks;  // of a snapshot: how often each was written
};

// One bucket of S3, and the imports of EC2 from it.
class ImageServices {
 public:
  using Parameters = std::map<std::string, std::string>;
  using Tags = std::map<std::string, std::string>;

  struct Reply {
    int status = 200;
    std::string body;
    std::string headers = {};
  };

  struct Part {
    std::size_t size = 0;
    std::string sha256;  // base64
    int times = 0;       // it was sent
  };
  struct Upload {
    std::string key;
    Tags tags;
    std::map<int, Part> parts;
  };
  struct Object {
    std::size_t size = 0;
    Tags tags;
    bool hides_tags = false;  // nobody may read them
  };
  struct Task {
    bool is_image = false;
    std::string status = "active";
    std::string key;
    std::string format;
    std::string image;
    std::string snapshot;
    Tags tags;
    async::Clock::TimePoint made{};
  };

  static constexpr const char* kBucket = "images";

  // They outlive it.
  ImageServices(const async::Runtime& runtime, std::map<std::string, OwnThing>& images,
                std::map<std::string, OwnThing>& snapshots)
      : runtime_(runtime), images_(images), snapshots_(snapshots) {}

  // What a call of S3 does, as AWS calls it.
  static std::string action(const http::HttpServer::Call& call);
  Reply serve(const std::string& action, const http::HttpServer::Call& call);
  // A call of EC2 about imports.
  Reply import(const std::string& action, const Parameters& query, const Tags& tags);

  // --- the cloud
  std::map<std::string, Upload> uploads;
  std::map<std::string, Object> objects;
  std::map<std::string, Task> tasks;
  async::Duration import_time{};
  bool breaks_imports = false;

 private:
  Reply begin(const std::string& key, const http::HttpServer::Call& call);
  Reply put(const std::string& upload, const std::string& number,
            const http::HttpServer::Call& call);
  Reply complete(const std::string& upload, const http::HttpServer::Call& call);
  Reply list_parts(const std::string& upload) const;
  Reply list_uploads(const std::string& prefix) const;
  Reply list_objects(const std::string& prefix) const;
  Reply describe(bool is_image, const std::string& id);
  void work_on(const std::string& id, Task& task);
  std::string new_id(const std::string& prefix);

  async::Runtime runtime_;
  std::map<std::string, OwnThing>& images_;
  std::map<std::string, OwnThing>& snapshots_;
  std::map<std::string, std::string> tokens_;  // ClientToken: the task
  int next_id_ = 0;
};

}  // namespace nodepool::drivers::aws
