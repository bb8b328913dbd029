// Which lock guards which member, in words that clang checks (-Wthread-safety) and other compilers
// skip. See https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#if defined(__clang__)
#define MW_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define MW_THREAD_ATTRIBUTE(x)
#endif

// On a member: it is read and written only while `mutex` is held.
#define MW_GUARDED_BY(mutex) MW_THREAD_ATTRIBUTE(guarded_by(mutex))
// On a pointer: what it points to is.
#define MW_PT_GUARDED_BY(mutex) MW_THREAD_ATTRIBUTE(pt_guarded_by(mutex))

// On a function: its caller holds these locks; its caller holds none of these locks.
#define MW_REQUIRES(...) MW_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MW_EXCLUDES(...) MW_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// On a lock: it is taken before, or after, these others.
#define MW_ACQUIRED_BEFORE(...) MW_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define MW_ACQUIRED_AFTER(...) MW_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))

// On types and functions of locks themselves; base/mutex.h has them all.
#define MW_CAPABILITY(name) MW_THREAD_ATTRIBUTE(capability(name))
#define MW_SCOPED_CAPABILITY MW_THREAD_ATTRIBUTE(scoped_lockable)
#define MW_ACQUIRE(...) MW_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define MW_RELEASE(...) MW_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define MW_NO_THREAD_SAFETY_ANALYSIS MW_THREAD_ATTRIBUTE(no_thread_safety_analysis)
