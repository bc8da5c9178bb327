#pragma once

#include <string_view>

#include "telemetry/metric.h"

// Metrics of builders.
namespace nodepool::builder {

inline constexpr telemetry::Metric kBuildExitCode{
    .name = "nodepool_image_build_exit_code",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}}},
    .statsd = {"nodepool.dib_image_build.<image>.status.rc"},
    .help = "Exit code of the last build."};

inline constexpr telemetry::Metric kBuildTime{
    .name = "nodepool_image_build_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"image"}}},
    .statsd = {"nodepool.dib_image_build.<image>.status.duration"},
    .help = "Duration of builds."};

inline constexpr telemetry::Metric kLastBuild{
    .name = "nodepool_image_last_build_timestamp_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}}},
    .statsd = {"nodepool.dib_image_build.<image>.status.last_build"},
    .help = "End time of the last build, also of a failed one, in seconds since 1970."};

inline constexpr telemetry::Metric kBuildResults{
    .name = "nodepool_image_builds_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"image"}, {"result"}}},
    .help = "Builds that have ended on this builder, by result: `done` or `failed`."};

inline constexpr telemetry::Metric kNewestReadyBuild{
    .name = "nodepool_image_newest_ready_build_timestamp_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}}},
    .help =
        "End time of the newest ready build of any builder, in seconds since 1970; missing "
        "without one."};

inline constexpr telemetry::Metric kRebuildAge{
    .name = "nodepool_image_rebuild_age_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}}},
    .help =
        "Configured `rebuild-age`; missing if the image has no `formats` and no provider uses it."};

inline constexpr telemetry::Metric kImageSize{
    .name = "nodepool_image_size_bytes",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}, {"format"}}},
    .statsd = {"nodepool.dib_image_build.<image>.<format>.size"},
    .help = "Size on disk, in bytes."};

inline constexpr telemetry::Metric kImageUploads{
    .name = "nodepool_image_upload_seconds",
    .kind = telemetry::Metric::Kind::counted_timer,
    .labels = {{{"image"}, {"provider"}}},
    .statsd = {"nodepool.image_update.<image>.<provider>"},
    .help = "Duration of successful uploads."};

inline constexpr telemetry::Metric kUploadResults{
    .name = "nodepool_image_uploads_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"image"}, {"provider"}, {"result"}}},
    .help = "Uploads that have ended on this builder, by result: `done` or `failed`."};

inline constexpr telemetry::Metric kNewestReadyUpload{
    .name = "nodepool_image_newest_ready_upload_timestamp_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}, {"provider"}}},
    .help =
        "End time of the newest ready upload of any builder, in seconds since 1970; missing "
        "without one."};

// The values of the label `result`.
inline constexpr std::string_view kDone = "done";
inline constexpr std::string_view kFailed = "failed";

inline constexpr telemetry::Metric kBuildRequests{
    .name = "nodepool_build_requests",
    .kind = telemetry::Metric::Kind::gauge,
    .statsd = {"nodepool.image_build_requests"},
    .help = "Requested builds of images that are not being built; sent every minute."};

inline constexpr telemetry::Metric kBuildRequestsOfImage{
    .name = "nodepool_image_build_requests",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"image"}}},
    .statsd = {"nodepool.image.<image>.image_build_requests"},
    .help =
        "1 if a build of the image is requested and none is in progress, else 0; sent every "
        "minute."};

inline constexpr telemetry::Metric kBuildState{
    .name = "nodepool_image_build_state",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"host"}, {"image"}}},
    .statsd = {"nodepool.builder.<host>.image.<image>.build.state"},
    .help = "0: idle, 1: building, 3: paused."};

inline constexpr telemetry::Metric kUploadState{
    .name = "nodepool_image_upload_state",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"host"}, {"image"}, {"provider"}}},
    .statsd = {"nodepool.builder.<host>.image.<image>.provider.<provider>.upload.state"},
    .help = "0: idle, 2: uploading, 3: paused."};

inline constexpr const telemetry::Metric* kBuilderMetrics[] = {
    &kBuildExitCode,    &kBuildTime,         &kLastBuild,     &kBuildResults,
    &kNewestReadyBuild, &kRebuildAge,        &kImageSize,     &kImageUploads,
    &kUploadResults,    &kNewestReadyUpload, &kBuildRequests, &kBuildRequestsOfImage,
    &kBuildState,       &kUploadState};

}  // namespace nodepool::builder
