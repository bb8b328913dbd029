// A store in a directory: of this machine, or of a file server that several machines mount.
//
//   DIR/blobs/…    a blob is a file of its name; nothing is added to its bytes
//   DIR/queue/…    a message is a file; its name says when it is visible, and to whom it belongs
//   DIR/partial/…  files being written; what a killed process left there goes after an hour
//   DIR/locks/…    256 empty files, locked for the moment in which a blob is replaced
//   DIR/clock      touched to learn the time of the file system
//
// Whole or not at all. A blob is written below partial/ and renamed, or linked where there must be
// none yet. Its etag is made of inode, size and modification time, of which the nanoseconds are a
// number that this process has not used before: an inode that is used again within one tick of
// the clock does not bring an etag back. Needs time stamps finer than a microsecond.
//
// Compare and swap. A file system has none, so that a process that replaces or removes a blob holds
// flock() on a file meanwhile. Not lock files: those need a guess of when their owner is dead, and
// a wrong guess loses an update; the kernel knows. On NFS flock() is a lock of the server's.
//
// Time is that of the file system, so that machines whose clocks differ agree on leases and ages;
// it may lag by a tick (some milliseconds).
//
// Nothing is synced. What a power cut takes is computed again, what it cuts short is caught by
// checksums in the blobs, and fetched results are synced where they are put. The
// death of a process, by whatever signal, loses nothing that was written.
//
// On NFS (version 4, locks on): rename, link and lock are done by the server, and what is promised
// above holds between machines. Another machine's blobs and messages show late, by as much as
// attributes are cached (`actimeo`, up to a minute by default). When the answer to a rename is
// lost and it is sent again, it reports a file that is not there: a lease that was had looks lost,
// and comes back when it ends.
//
// A blob cannot be in another's place: where there is `a/b`, putting `a` throws, and the other way
// round. No word of a name may begin with ".nfs", as files do that a server keeps for who has them
// open.
#pragma once

#include <filesystem>
#include <string>

#include "meanwhile/storage/store.h"

namespace meanwhile::storage {

// `name` is for messages. Nothing is made before the first put() or create(). Who waits for a lock
// longer than `lock_deadline_s` (its owner must be stopped, or its machine be lost) gets
// Error(kSystem).
Store open_local(const std::string& name, const std::filesystem::path& directory, Meter& meter,
                 double lock_deadline_s = 30);

}  // namespace meanwhile::storage
