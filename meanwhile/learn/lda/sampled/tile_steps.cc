#include "meanwhile/learn/lda/sampled/tile_steps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/lda/sampled/tile_steps.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::lda::sampled::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Two {
  std::uint32_t a, b;
};

// How many of n topics are `a`, and how many are `b`. Reads whole stretches of kScanned.
template <class Topic>
HWY_INLINE Two count_two(const Topic* HWY_RESTRICT topics, std::uint32_t n, std::uint32_t a,
                         std::uint32_t b) {
  const hn::CappedTag<Topic, kScanned> d;
  const auto a_lanes = hn::Set(d, static_cast<Topic>(a));
  const auto b_lanes = hn::Set(d, static_cast<Topic>(b));
  const std::size_t lanes = hn::Lanes(d);
  std::size_t of_a = 0, of_b = 0;
  for (std::size_t begin = 0; begin < n; begin += kScanned) {
    for (std::size_t i = begin; i < begin + kScanned; i += lanes) {
      const auto here = hn::LoadU(d, topics + i);
      const auto within = hn::FirstN(d, n > i ? n - i : 0);
      of_a += hn::CountTrue(d, hn::And(within, hn::Eq(here, a_lanes)));
      of_b += hn::CountTrue(d, hn::And(within, hn::Eq(here, b_lanes)));
    }
  }
  return {static_cast<std::uint32_t>(of_a), static_cast<std::uint32_t>(of_b)};
}

template <class Topic, class Count>
HWY_INLINE std::size_t take(std::span<const TileStep<Topic, Count>> steps,
                            const StepView<Topic>& view, TopicChange* HWY_RESTRICT changes) {
  Topic* const topics = view.topics;
  Weight* const weights = view.weights;
  double* const totals = view.totals;
  const double* const alpha = view.alpha;
  const double own = view.own;
  std::size_t changed = 0;
  for (const TileStep<Topic, Count>& step : steps) {
    const TileDocument<Count>& document = *step.document;
    const std::uint32_t old = topics[step.at];
    const std::uint32_t first = *step.by_document, second = *step.by_word;
    if (first == old && second == old) continue;
    // Weights without the token.
    const auto weight = [&](std::uint32_t k) { return weights[k].now - (k == old ? own : 0); };
    const auto total = [&](std::uint32_t k) { return totals[k] - (k == old ? own : 0); };
    std::uint32_t topic = old;
    // The token's own part of N proposes the topic that it has, and the rest cancels.
    if (first != old &&
        unit(step.bits[1]) * (weight(old) * total(first)) < weight(first) * total(old)) {
      topic = first;
    }
    if (second != topic) {
      const auto side = [&](std::uint32_t k, std::uint32_t against, std::uint32_t here) {
        return (here + alpha[k]) * weight(k) * total(against) * weights[against].before;
      };
      Two tokens;
      if (document.counts == nullptr) {
        tokens = count_two(topics + document.at, document.tokens, topic, second);
      } else {
        tokens = {document.find(topic)->tokens, document.find(second)->tokens};
      }
      tokens.a -= topic == old ? 1 : 0;
      tokens.b -= second == old ? 1 : 0;
      if (unit(step.bits[3]) * side(topic, second, tokens.a) < side(second, topic, tokens.b))
        topic = second;
    }
    if (topic == old) continue;
    if (document.counts != nullptr) {
      --document.find(old)->tokens;
      Count* const to = document.find(topic);
      to->topic = static_cast<typename Count::Number>(topic);
      ++to->tokens;
    }
    weights[old].now -= own;
    totals[old] -= own;
    weights[topic].now += own;
    totals[topic] += own;
    topics[step.at] = static_cast<Topic>(topic);
    changes[changed++] = {step.word, old, topic};
  }
  return changed;
}

std::size_t take_short(std::span<const TileStep<std::uint16_t, ShortCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes) {
  return take(steps, view, changes);
}
std::size_t take_mixed(std::span<const TileStep<std::uint16_t, LongCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes) {
  return take(steps, view, changes);
}
std::size_t take_long(std::span<const TileStep<std::uint32_t, LongCount>> steps,
                      const StepView<std::uint32_t>& view, TopicChange* changes) {
  return take(steps, view, changes);
}

}  // namespace meanwhile::learn::lda::sampled::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::lda::sampled {

HWY_EXPORT(take_short);
HWY_EXPORT(take_mixed);
HWY_EXPORT(take_long);

std::size_t take_steps(std::span<const TileStep<std::uint16_t, ShortCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes) {
  return HWY_DYNAMIC_DISPATCH(take_short)(steps, view, changes);
}
std::size_t take_steps(std::span<const TileStep<std::uint16_t, LongCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes) {
  return HWY_DYNAMIC_DISPATCH(take_mixed)(steps, view, changes);
}
std::size_t take_steps(std::span<const TileStep<std::uint32_t, LongCount>> steps,
                       const StepView<std::uint32_t>& view, TopicChange* changes) {
  return HWY_DYNAMIC_DISPATCH(take_long)(steps, view, changes);
}

}  // namespace meanwhile::learn::lda::sampled
#endif
