// The model of "K-means on Azure" (Durut, Rossi) and of its poster, as the paper has it: pure
// functions, to check plans against. Plans themselves are made by plan/predict.h.
//
//   T(P) = I (3NKD F / P  +  2 ceil(sqrt P) KD B)  +  (ND / P) B
//
// Workers assign N/P points each; ceil(sqrt P) machines add the prototypes of about as many workers
// each, one more adds theirs: both read ceil(sqrt P) blobs of KD doubles. Writing, latency and the
// limits of all workers together are not counted. The last term, loading the data, is not in the
// paper's formula but in its numbers, and so is rounding the root up.
#pragma once

namespace meanwhile::plan::papers {

// The letters are the paper's; the values, those of its table of speedups.
struct Clustering {
  double N = 500000;     // points
  double D = 1000;       // coordinates
  double K = 1000;       // clusters
  double I = 10;         // iterations
  double F = 1 / 669e6;  // seconds of an operation
  double B = 1e-6;       // seconds to read a double from storage: 8 MB/s
};

// The speed that the paper's table of sequential times was made with; the text says 669e6.
inline constexpr double kFlopsOfTheTable = 670e6;

int reducers(int P);          // ceil(sqrt P), without the last one
int processing_units(int P);  // P + ceil(sqrt P) + 1

double sequential_seconds(const Clustering& c);
double seconds(const Clustering& c, int P);
// Speedup over the sequential time for each processing unit.
double theoretical_efficiency(const Clustering& c, int P);

// The closed forms below are of the model without rounding and without loading:
// I (3NKD F / P + 2 sqrt(P) KD B). Then a third of the time is map, and the speedup is P*/3.
double smooth_seconds(const Clustering& c, double P);
double best_workers(const Clustering& c);  // P* = (3NF/B)^(2/3)
double best_seconds(const Clustering& c);  // T* = T(P*), as N^(1/3)
double best_speedup(double best_workers);  // P*/3
// The poster's: B is its B1, B2 the seconds to write a double.
double best_workers(const Clustering& c, double B2);  // (3NF/(B1 + B2/2))^(2/3)

// The exponent of growth of y between two points (x, y).
double growth(double x1, double y1, double x2, double y2);

// Dollars for machines, at 0.10 an hour. `hours`: paid for, whole or not.
double machine_price(int processing_units, double hours);

}  // namespace meanwhile::plan::papers
