// What the parts of the preloaded library share. It stands between the store and the system: it records what is
// written and synced beneath a directory, and makes calls fail.
#ifndef TORTURE_SHIM_H
#define TORTURE_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRACKED_FILES = 1024, PATH_BYTES = 512 };

// What kind of call an event is; the numbers stand in the log.
enum event {
  EVENT_OPEN = 1,      // a file that was made: path; a its number
  EVENT_WRITE = 2,     // a file, b offset, data; flags: 1 durable when it returns, 2 a gathered one
  EVENT_SYNC = 3,      // a file
  EVENT_TRUNCATE = 4,  // a file, b length
  EVENT_RENAME = 5,    // two paths, NUL between them
  EVENT_UNLINK = 6,    // path
  EVENT_MKDIR = 7,     // path
  EVENT_SYNC_DIRECTORY = 8,  // path
  EVENT_NOTE = 9,      // bytes that the program itself put into the log
  EVENT_MAPPED = 10,   // a file that was mapped for writing
};

// Classes of calls that can be made to fail; a bit each.
enum call {
  CALL_WRITE = 1,
  CALL_SYNC = 2,
  CALL_TRUNCATE = 4,
  CALL_RENAME = 8,
  CALL_OPEN = 16,
};

// The number of the file behind a descriptor, its inode's, or 0 where it lies elsewhere.
uint32_t tracked(int fd);

// Appends one event to the log, if a log is being written. The lock is held.
void record(enum event kind, uint32_t file, uint64_t offset, uint32_t flags, const void *bytes, size_t count);
int is_recording(void);
// Whether syncs are to be passed over, and so prove that they are needed.
int ignores_syncs(void);

enum { WRITE_HALF = 1, WRITE_NOTHING = 2 };

// What is to happen to the next call of a class: 0 nothing, else an errno; *shortened is set when a write is to
// stop half way, or to be claimed and not done, instead. The lock is held.
int next_fault(enum call kind, int *shortened);

#endif
