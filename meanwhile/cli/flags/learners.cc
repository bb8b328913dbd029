#include "meanwhile/cli/flags/learners.h"

#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/nearest.h"
#include "meanwhile/job/run_directory.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

constexpr LearnerEntry kLearners[] = {
    {"kmeans", "k-means clustering: Lloyd's algorithm or mini-batches, Euclidean or cosine",
     "examples:\n"
     "  meanwhile train kmeans points.npy --n-clusters 100 --seed 7 --out runs/a\n"
     "  meanwhile train kmeans points.npy --resume runs/a --max-iter 500\n"
     "  meanwhile train kmeans digits.csv.gz --label-column -1 --n-clusters 10 --n-init 5\n"
     "  meanwhile train kmeans texts.libsvm --metric cosine --n-clusters 50\n"
     "  meanwhile train kmeans large.safetensors --batch-size 10000 --memory-limit 2G\n"
     "  meanwhile train kmeans points.npy --init centres.npy\n",
     add_kmeans_flags, load_kmeans},
    {"svm", "support vector machine: linear, hinge or squared hinge loss",
     "examples:\n"
     "  meanwhile train svm train.libsvm.gz --l2 1e-4 --eval test.libsvm --out runs/svm\n"
     "  meanwhile train svm train.libsvm --send gradient --exchange tree --batch-fraction 0.01\n"
     "  mpirun -n 8 meanwhile train svm train.libsvm --out runs/mpi\n",
     add_svm_flags, load_linear, true},
    {"logistic", "logistic regression: two classes, or more (softmax, one against the rest)",
     "examples:\n"
     "  meanwhile train logistic train.libsvm --l1 1e-5 --l2 1e-6\n"
     "  meanwhile train logistic train.csv --label-column -1 --validation-fraction 0.1\n"
     "  meanwhile train logistic train.libsvm --solver lbfgs --tol 1e-6\n",
     add_logistic_flags, load_linear, true},
    {"linear", "linear regression: squared or Huber's loss",
     "examples:\n"
     "  meanwhile train linear houses.csv --label-column price --loss huber\n"
     "  meanwhile train linear houses.csv --label-column price --l1 0.1 --standardize\n",
     add_linear_flags, load_linear, true},
    {"lda", "topics of documents: latent Dirichlet allocation by variational inference",
     "examples:\n"
     "  meanwhile train lda reviews.txt --n-topics 100 --out runs/reviews\n"
     "  meanwhile train lda docword.nips.txt.gz --vocabulary vocab.nips.txt --n-topics 50\n"
     "  meanwhile train lda more.txt --resume runs/reviews\n"
     "  mpirun -n 8 meanwhile train lda docword.nytimes.txt.gz --passes 2\n"
     "  meanwhile topics runs/reviews --top 12\n",
     add_lda_flags, load_lda, true, true},
};

}  // namespace

Predictions TrainedModel::predict(const data::Dataset&, int) const {
  throw Error(ErrorKind::kUsage, "this model gives rows no labels; see 'transform'");
}

void TrainedModel::probabilities(const data::Dataset&, std::int64_t, std::int64_t, int,
                                 std::span<double>) const {
  throw Error(ErrorKind::kUsage, "--probabilities: this model gives none; 'train logistic' does");
}

std::span<const LearnerEntry> learners() { return kLearners; }

std::filesystem::path model_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ErrorKind::kInput, "{}: no such run directory or model file", path.string());
  }
  const bool run = std::filesystem::is_directory(path, error);
  return run ? job::RunDirectory::open(path).newest_state() : path;
}

LoadedModel load_model(const std::filesystem::path& path) {
  const std::filesystem::path file = model_file(path);
  const data::SafetensorsFile opened(file);
  const data::Metadata& metadata = opened.metadata();
  const auto kind = metadata.find("kind");
  if (kind == metadata.end() || kind->second != "model") {
    throw Error(ErrorKind::kInput, "{}: is a safetensors file, but not a model", file.string());
  }
  const auto name = metadata.find("learner");
  std::vector<std::string> known;
  for (const LearnerEntry& entry : learners()) {
    if (name != metadata.end() && name->second == entry.name) {
      try {
        return {&entry, file, entry.load(opened)};
      } catch (Error& e) {
        throw e.in(file.string());
      }
    }
    known.push_back(entry.name);
  }
  throw Error(ErrorKind::kInput, "{}: was made by the learner '{}', known are {}", file.string(),
              name == metadata.end() ? "" : name->second, listed(known));
}

}  // namespace meanwhile::cli
