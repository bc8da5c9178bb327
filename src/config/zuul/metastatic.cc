#include "config/wording.h"
#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

// A node of the backing label with slots, which is kept for the grace time when it is empty.
ZuulLabel slot_label(Source& source, const ZuulLabel& backing) {
  ZuulLabel label = backing;
  label.name = source.section().text("name");
  source.copy_with_default("max-parallel-jobs", label.settings, "slots");
  set(label.settings, "reuse", Value::boolean(true));
  source.copy_with_default("grace-time", label.settings, "max-ready-age");
  source.copy("min-retention-time", label.settings);
  source.copy("max-age", label.settings);
  return label;
}

}  // namespace

void convert_metastatic(Source& provider, std::vector<ZuulProvider>& providers) {
  for (const char* key :
       {"driver", "name", "boot-timeout", "launch-timeout", "launch-retries", "rate"}) {
    provider.use(key);  // those of the backing nodes' provider count
  }
  for (Source& pool : provider.sources("pools")) {
    pool.use("name");
    pool.use("host-key-checking");  // as the backing label: its node shows the keys
    for (Source& source : pool.sources("labels")) {
      source.use("name");
      source.use("host-key-checking");
      const std::string backing = source.use("backing-label").text("backing-label");
      bool has_backing = false;
      for (ZuulProvider& target : providers) {
        const ZuulLabel* found = target.find(backing);
        if (found == nullptr) continue;
        has_backing = true;
        add_label(target, slot_label(source, *found));
      }
      if (!has_backing) {
        source.omit("backing-label", "no converted provider has it; the label is left out");
      }
      source.finish();
    }
    pool.finish();
  }
  provider.finish();
}

}  // namespace nodepool::config::zuul
