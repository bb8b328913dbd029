#include "meanwhile/learn/lda/sampled/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/lda/sampled/bits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::lda::sampled::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
std::size_t fill(std::uint64_t, const base::PhiloxBlock&, std::size_t, std::uint32_t*) { return 0; }
#else
using Tag = hn::ScalableTag<std::uint32_t>;
using Vec = hn::Vec<Tag>;

// Both halves of the products of all lanes.
HWY_INLINE void multiply(Vec a, Vec b, Vec& high, Vec& low) {
  const Tag d;
  const hn::RepartitionToWide<Tag> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

// As many blocks as whole vectors hold, and how many these are. REQUIRES: the lower half of
// `first` does not overflow within `n`.
std::size_t fill(std::uint64_t first, const base::PhiloxBlock& key, std::size_t n,
                 std::uint32_t* HWY_RESTRICT to) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const Vec multiplier0 = hn::Set(d, 0xD2511F53), multiplier1 = hn::Set(d, 0xCD9E8D57);
  std::size_t done = 0;
  for (; done + lanes <= n; done += lanes) {
    const std::uint64_t at = first + done;
    Vec c0 = hn::Iota(d, static_cast<std::uint32_t>(at));
    Vec c1 = hn::Set(d, static_cast<std::uint32_t>(at >> 32));
    Vec c2 = hn::Set(d, key[2]), c3 = hn::Set(d, key[3]);
    std::uint32_t key0 = key[0], key1 = key[1];
    for (int round = 0; round < 10; ++round) {
      Vec high0, low0, high1, low1;
      multiply(c0, multiplier0, high0, low0);
      multiply(c2, multiplier1, high1, low1);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
      c1 = low1;
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
      c3 = low0;
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, to + 4 * done);
  }
  return done;
}
#endif

}  // namespace meanwhile::learn::lda::sampled::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::lda::sampled {

HWY_EXPORT(fill);

void Bits::blocks(std::uint64_t first, std::span<base::PhiloxBlock> to) const {
  const std::uint64_t end = first + to.size();
  std::size_t done = 0;
  if (first >> 32 == end >> 32 && !to.empty()) {
    done = HWY_DYNAMIC_DISPATCH(fill)(first, key_, to.size(), to.front().data());
  }
  for (; done < to.size(); ++done) to[done] = block(first + done);
}

}  // namespace meanwhile::learn::lda::sampled
#endif
