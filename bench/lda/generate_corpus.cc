// A corpus of any size from a seed, in little memory: documents as latent Dirichlet allocation has
// them.
//
//   generate_corpus DOCUMENTS WORDS TOPICS ALPHA ETA LENGTH SEED FILE
//
// Mixtures of documents from Dirichlet(ALPHA), topics from Dirichlet(ETA) over the words, lengths
// uniform from half of LENGTH to one and a half. Neither mixtures nor topics are drawn: a token
// copies the topic of one of the n tokens before it in its document with probability
// n / (n + TOPICS x ALPHA), and its word from those before it in its topic likewise, which has the
// same distribution (Blackwell and MacQueen's urn). FILE.ldac is LDA-C: pairs of word and count.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "meanwhile/base/random.h"

namespace {

using meanwhile::base::PhiloxBlock;
using meanwhile::base::Purpose;
using meanwhile::base::Random;

double unit(std::uint32_t bits) { return bits * 0x1p-32; }

// One of those before, or a new one of `n`; `fresh`: how much a new one weighs.
std::uint32_t draw(const std::vector<std::uint32_t>& before, double fresh, std::uint32_t n,
                   std::uint32_t choice, std::uint32_t which) {
  const auto size = static_cast<double>(before.size());
  if (unit(choice) * (size + fresh) < size) {
    return before[static_cast<std::size_t>(unit(which) * size)];
  }
  return static_cast<std::uint32_t>(unit(which) * n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::cerr << "generate_corpus DOCUMENTS WORDS TOPICS ALPHA ETA LENGTH SEED FILE\n";
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::stoul(argv[i])); };
  const std::uint32_t documents = number(1), words = number(2), topics = number(3);
  const double alpha = std::stod(argv[4]) * topics, eta = std::stod(argv[5]) * words;
  const std::uint32_t length = number(6);
  const Random lengths(number(7), Purpose::kGenerate, 0, 0),
      tokens(number(7), Purpose::kGenerate, 1, 0);
  std::FILE* const file = std::fopen(argv[8], "wb");
  if (file == nullptr) {
    std::cerr << "cannot write " << argv[8] << '\n';
    return 1;
  }
  std::vector<std::vector<std::uint32_t>> of_topics(topics);
  std::vector<std::uint32_t> document, here;
  std::string line;
  std::uint64_t token = 0;
  for (std::uint32_t d = 0; d < documents; ++d) {
    here.clear();
    document.clear();
    const std::uint64_t size =
        std::max<std::uint64_t>(1, length / 2 + lengths.below(d, length + 1));
    for (std::uint64_t n = 0; n < size; ++n) {
      const PhiloxBlock bits = tokens.block(token++);
      here.push_back(draw(here, alpha, topics, bits[0], bits[1]));
      std::vector<std::uint32_t>& of_topic = of_topics[here.back()];
      of_topic.push_back(draw(of_topic, eta, words, bits[2], bits[3]));
      document.push_back(of_topic.back());
    }
    std::sort(document.begin(), document.end());
    line.clear();
    std::size_t pairs = 0;
    for (std::size_t i = 0, next; i < document.size(); i = next, ++pairs) {
      for (next = i; next < document.size() && document[next] == document[i]; ++next) {
      }
      fmt::format_to(std::back_inserter(line), " {}:{}", document[i], next - i);
    }
    line = fmt::format("{}{}\n", pairs, line);
    std::fwrite(line.data(), 1, line.size(), file);
  }
  if (std::fclose(file) != 0) return 1;
  std::cout << documents << " documents, " << token << " tokens\n";
  return 0;
}
