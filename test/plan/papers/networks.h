// Neural networks as "Modeling Scalability of Distributed Machine Learning" (Ulanov et al.) counts
// them, and its models of gradient descent: pure functions, to check plans against.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace meanwhile::plan::papers {

struct FullyConnected {
  std::int64_t inputs = 0, outputs = 0;
};

// Squares only. A window lies at c = (side - size + border) / stride + 1 places of a side, in whole
// numbers.
struct Convolution {
  std::int64_t maps = 0;    // n
  std::int64_t size = 0;    // k, of a window's side
  std::int64_t depth = 0;   // d, of the input that one map sees: in groups, of the group
  std::int64_t side = 0;    // l, of the input
  std::int64_t border = 0;  // b, on both sides together
  std::int64_t stride = 1;  // s
  std::int64_t places() const { return (side - size + border) / stride + 1; }
};

using Layer = std::variant<FullyConnected, Convolution>;

// Biases added to a neuron's input. The paper has one for each place of a map (n c c); nets of
// these years, one for each map. In a fully connected layer both are one for each output.
enum class Bias { kNone, kPlace, kMap };

std::int64_t parameters(std::span<const Layer> layers, Bias bias);
// Multiply-adds of a forward pass on one example. The paper's Table I gives twice these for the
// fully connected network, and these for the convolutional one.
std::int64_t multiply_adds(std::span<const Layer> layers);
// sizes[0] inputs, then the outputs of each layer.
std::vector<Layer> fully_connected(std::span<const std::int64_t> sizes);

// Gradient descent. Logarithms are to base 2.
struct Descent {
  double C = 0;      // operations of a gradient of one example
  double S = 0;      // examples of a batch
  double W = 0;      // parameters
  double F = 0;      // operations a second of a worker
  double B = 1e9;    // bits a second of its link
  double bits = 32;  // of a parameter
};

// CS/(Fn) + 2 (bits W/B) log n: a batch that is cut among n workers.
double descent_seconds(const Descent& d, int n);
// As Spark does it: a torrent to spread, two waves of ceil(sqrt n) to add.
//   CS/(Fn) + (bits W/B) log n + 2 (bits W/B) ceil(sqrt n)
// One worker sends, too.
double spark_seconds(const Descent& d, int n);
// (CS/F + 2 (bits W/B) log n) / n: for one example, when every worker has a batch of its own.
double instance_seconds(const Descent& d, int n);
// c/n + d log n: the example of Fig 1.
double general_seconds(double c, double d, int n);

// The two networks that were measured.
Descent spark_mnist();          // Fig 2
Descent inception_printed();    // Fig 3, with the constants in the text of the paper
Descent inception_published();  // and with those its published numbers were made with

}  // namespace meanwhile::plan::papers
