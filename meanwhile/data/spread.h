#pragma once

namespace meanwhile::data {

// How the values of an update, such as those of vertices, lie on workers.
struct Spread {
  double copies = 0;  // workers that a value is on, on average; 0: not known
  // Values that one worker has of others, or others of it: the most, as a part of all values; 0:
  // not known.
  double busiest = 0;
};

}  // namespace meanwhile::data
