// Plain text parsed by all workers at once, each a range of its bytes.
#pragma once

#include <vector>

#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// The rows that begin in this worker's range of the files; raw rows of a table are not encoded yet.
// Columns, class names and unknown words are those of the whole data set, the same on every worker.
// Collective. REQUIRES: data::can_cut(files); `read` are the options of data::with_vocabulary().
// THROWS on every worker the error that data::read would throw; what the transport throws.
data::SomeRows load_text(transport::Transport& transport, const std::vector<data::InputFile>& files,
                         const data::ReadOptions& read);

}  // namespace meanwhile::job
