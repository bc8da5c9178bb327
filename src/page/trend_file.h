#pragma once

#include <string>
#include <string_view>

#include "history/journal.h"
#include "page/trends.h"

namespace nodepool::page {

// The samples of the trends in files, for the next process: a line of JSON for each sample, with
// the counts in the order of Trends::Counts. Names without counts are missing.
//   {"time":1700000000,"all":{"":[1,2,0,0,0]},"label":{"debian":[1,2,0,0,0]},"provider":{…}}
//
// They are `trends.jsonl` in the directory of the history, and the previous file. Launchers with
// the same directory write to the same files.
history::Journal trend_file(const history::Journal& history);

// `time`: in seconds since the epoch. With its newline.
std::string to_line(double time, const Trends::Sample& sample);

// The samples of the files, as far as Trends keeps them. `now`: the present time of their clock.
// Ignores lines that cannot be read, for example torn ones. Blocks. Throws std::system_error.
Trends read_trends(const history::Journal& file, Trends::TimePoint now, double wall_seconds);

}  // namespace nodepool::page
