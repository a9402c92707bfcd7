// The calls that are stood in for: every way in which the store or its engine changes files.
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// One lock around every call, so that the log's order is the order in which things happened.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_BYTES];
static size_t root_length;

// By descriptor: the number of the file, whether writes are durable when they return, and directories' paths.
static uint32_t file_of[TRACKED_FILES];
static int is_durable[TRACKED_FILES];
static char *directory_of[TRACKED_FILES];

uint32_t tracked(int fd) { return fd >= 0 && fd < TRACKED_FILES ? file_of[fd] : 0; }

// Watches what lies beneath `directory`; nothing else is touched.
void torture_watch(const char *directory) {
  pthread_mutex_lock(&lock);
  snprintf(root, sizeof root, "%s/", directory);
  root_length = strlen(root);
  pthread_mutex_unlock(&lock);
}

// Puts bytes of the program's own into the log, in order with all else.
void torture_note(const void *bytes, size_t count) {
  pthread_mutex_lock(&lock);
  record(EVENT_NOTE, 0, 0, 0, bytes, count);
  pthread_mutex_unlock(&lock);
}

static int is_below(const char *path) {
  if (root_length == 0 || path == NULL) return 0;
  // The directory itself counts too.
  return strncmp(path, root, root_length) == 0 || (strncmp(path, root, root_length - 1) == 0 && path[root_length - 1] == 0);
}

// A store reaches its files through the descriptor of its directory: the path as it was when that was opened, or `path` itself.
static const char *named(const char *path, char *room) {
  static const char held[] = "/proc/self/fd/";
  if (path == NULL || strncmp(path, held, sizeof held - 1) != 0) return path;
  char *rest;
  long fd = strtol(path + sizeof held - 1, &rest, 10);
  if (fd < 0 || fd >= TRACKED_FILES || directory_of[fd] == NULL) return path;
  snprintf(room, PATH_BYTES, "%s%s", directory_of[fd], rest);
  return room;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int real_status(int fd, struct stat *status) {
  static int (*real)(int, struct stat *);
  if (!real) real = REAL(fstat);
  return real(fd, status);
}

static int after_open(int fd, const char *path, int flags, int was_there) {
  if (fd < 0 || fd >= TRACKED_FILES || !is_below(path)) return fd;
  struct stat status;
  if (real_status(fd, &status) != 0) return fd;
  if (S_ISDIR(status.st_mode)) {
    directory_of[fd] = strdup(path);
    return fd;
  }
  file_of[fd] = (uint32_t)status.st_ino;
  is_durable[fd] = (flags & O_DSYNC) == O_DSYNC;
  if (!was_there) record(EVENT_OPEN, file_of[fd], 0, 0, path, strlen(path));
  if (was_there && (flags & O_TRUNC)) record(EVENT_TRUNCATE, file_of[fd], 0, 0, NULL, 0);
  return fd;
}

static int open_file(int directory, const char *path, int flags, mode_t mode) {
  static int (*real)(int, const char *, int, ...);
  char room[PATH_BYTES];
  if (!real) real = REAL(openat);
  path = named(path, room);
  if (!is_below(path)) return real(directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  int shortened, fault = next_fault(CALL_OPEN, &shortened), fd = -1;
  if (fault) {
    errno = fault;
  } else {
    struct stat status;
    int was_there = lstat(path, &status) == 0;
    fd = after_open(real(directory, path, flags, mode), path, flags, was_there);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN_MODE(flags, mode)                          \
  mode_t mode = 0;                                      \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                \
    va_list arguments;                                  \
    va_start(arguments, flags);                         \
    mode = (mode_t)va_arg(arguments, unsigned);         \
    va_end(arguments);                                  \
  }

int open(const char *path, int flags, ...) {
  OPEN_MODE(flags, mode)
  return open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  OPEN_MODE(flags, mode)
  return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  OPEN_MODE(flags, mode)
  return open_file(directory, path, flags, mode);
}

int close(int fd) {
  static int (*real)(int);
  if (!real) real = REAL(close);
  if (fd >= 0 && fd < TRACKED_FILES && (file_of[fd] || directory_of[fd])) {
    pthread_mutex_lock(&lock);
    file_of[fd] = 0;
    is_durable[fd] = 0;
    free(directory_of[fd]);
    directory_of[fd] = NULL;
    pthread_mutex_unlock(&lock);
  }
  return real(fd);
}

// Writes the pieces at `offset`; every call that writes ends here.
static ssize_t write_at(int fd, const struct iovec *pieces, int count, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (!real) real = REAL(pwrite64);
  pthread_mutex_lock(&lock);
  int shortened, fault = next_fault(CALL_WRITE, &shortened);
  size_t total = 0;
  for (int i = 0; i < count; i++) total += pieces[i].iov_len;
  size_t allowed = shortened == WRITE_HALF ? total / 2 : shortened == WRITE_NOTHING ? 0 : total;
  ssize_t written = 0;
  for (int i = 0; i < count && !fault && allowed > 0; i++) {
    size_t length = pieces[i].iov_len < allowed ? pieces[i].iov_len : allowed;
    ssize_t done = real(fd, pieces[i].iov_base, length, offset + written);
    if (done < 0) {
      if (written == 0) written = -1;
      break;
    }
    uint32_t flags = (is_durable[fd] && !ignores_syncs() ? 1 : 0) | (count > 1 ? 2 : 0);
    record(EVENT_WRITE, file_of[fd], (uint64_t)(offset + written), flags, pieces[i].iov_base, (size_t)done);
    written += done;
    allowed -= (size_t)done;
    if ((size_t)done < length) break;
  }
  pthread_mutex_unlock(&lock);
  if (fault) {
    errno = fault;
    return -1;
  }
  return shortened == WRITE_NOTHING ? (ssize_t)total : written;
}

// The same at the descriptor's own place, which moves on.
static ssize_t write_here(int fd, const struct iovec *pieces, int count) {
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ssize_t written = write_at(fd, pieces, count, offset);
  if (written > 0) lseek(fd, offset + written, SEEK_SET);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (!real) real = REAL(pwrite);
  if (!tracked(fd)) return real(fd, bytes, count, offset);
  struct iovec piece = {(void *)bytes, count};
  return write_at(fd, &piece, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (!real) real = REAL(pwrite64);
  if (!tracked(fd)) return real(fd, bytes, count, offset);
  struct iovec piece = {(void *)bytes, count};
  return write_at(fd, &piece, 1, offset);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec *, int, off_t);
  if (!real) real = REAL(pwritev);
  if (!tracked(fd)) return real(fd, pieces, count, offset);
  return write_at(fd, pieces, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec *, int, off_t);
  if (!real) real = REAL(pwritev64);
  if (!tracked(fd)) return real(fd, pieces, count, offset);
  return write_at(fd, pieces, count, offset);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  static ssize_t (*real)(int, const struct iovec *, int);
  if (!real) real = REAL(writev);
  if (!tracked(fd)) return real(fd, pieces, count);
  return write_here(fd, pieces, count);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = REAL(write);
  if (!tracked(fd)) return real(fd, bytes, count);
  struct iovec piece = {(void *)bytes, count};
  return write_here(fd, &piece, 1);
}

static int sync_file(int fd, int (*real)(int)) {
  if (fd < 0 || fd >= TRACKED_FILES || (!file_of[fd] && !directory_of[fd])) return real(fd);
  pthread_mutex_lock(&lock);
  int shortened, fault = next_fault(CALL_SYNC, &shortened), result = -1;
  if (fault) {
    errno = fault;
  } else {
    // Nothing here outlives the machine, so the sync itself is left out: what counts is its place in the log.
    result = is_recording() ? 0 : real(fd);
    if (result == 0 && !ignores_syncs()) {
      const char *path = directory_of[fd];
      if (path) record(EVENT_SYNC_DIRECTORY, 0, 0, 0, path, strlen(path));
      else record(EVENT_SYNC, file_of[fd], 0, 0, NULL, 0);
    }
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = REAL(fsync);
  return sync_file(fd, real);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = REAL(fdatasync);
  return sync_file(fd, real);
}

static int resize(int fd, off_t length) {
  static int (*real)(int, off_t);
  if (!real) real = REAL(ftruncate64);
  if (!tracked(fd)) return real(fd, length);
  pthread_mutex_lock(&lock);
  int shortened, fault = next_fault(CALL_TRUNCATE, &shortened), result = -1;
  if (fault) {
    errno = fault;
  } else {
    result = real(fd, length);
    if (result == 0) record(EVENT_TRUNCATE, file_of[fd], (uint64_t)length, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int ftruncate(int fd, off_t length) { return resize(fd, length); }
int ftruncate64(int fd, off_t length) { return resize(fd, length); }

static int resize_path(const char *path, off_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = ftruncate(fd, length), code = errno;
  close(fd);
  errno = code;
  return result;
}

int truncate(const char *path, off_t length) { return resize_path(path, length); }
int truncate64(const char *path, off_t length) { return resize_path(path, length); }

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  char one[PATH_BYTES], other[PATH_BYTES];
  if (!real) real = REAL(rename);
  from = named(from, one);
  to = named(to, other);
  if (!is_below(from) && !is_below(to)) return real(from, to);
  pthread_mutex_lock(&lock);
  int shortened, fault = next_fault(CALL_RENAME, &shortened), result = -1;
  if (fault) {
    errno = fault;
  } else if ((result = real(from, to)) == 0) {
    char both[2 * PATH_BYTES];
    int count = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    record(EVENT_RENAME, 0, 0, 0, both, (size_t)count);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static int remove_name(const char *path, int (*real)(const char *)) {
  char room[PATH_BYTES];
  path = named(path, room);
  if (!is_below(path)) return real(path);
  pthread_mutex_lock(&lock);
  int result = real(path);
  if (result == 0) record(EVENT_UNLINK, 0, 0, 0, path, strlen(path));
  pthread_mutex_unlock(&lock);
  return result;
}

int unlink(const char *path) {
  static int (*real)(const char *);
  if (!real) real = REAL(unlink);
  return remove_name(path, real);
}

int rmdir(const char *path) {
  static int (*real)(const char *);
  if (!real) real = REAL(rmdir);
  return remove_name(path, real);
}

int mkdir(const char *path, mode_t mode) {
  static int (*real)(const char *, mode_t);
  if (!real) real = REAL(mkdir);
  if (!is_below(path)) return real(path, mode);
  pthread_mutex_lock(&lock);
  int result = real(path, mode);
  if (result == 0) record(EVENT_MKDIR, 0, 0, 0, path, strlen(path));
  pthread_mutex_unlock(&lock);
  return result;
}

// The engine maps its data read-only and its table of readers for writing; another file mapped so would change
// unseen.
static void note_mapping(int protection, int flags, int fd) {
  if (fd < 0 || !tracked(fd) || !(protection & PROT_WRITE) || !(flags & MAP_SHARED)) return;
  pthread_mutex_lock(&lock);
  record(EVENT_MAPPED, file_of[fd], 0, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
}

void *mmap(void *place, size_t length, int protection, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (!real) real = REAL(mmap);
  note_mapping(protection, flags, fd);
  return real(place, length, protection, flags, fd, offset);
}

void *mmap64(void *place, size_t length, int protection, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (!real) real = REAL(mmap64);
  note_mapping(protection, flags, fd);
  return real(place, length, protection, flags, fd, offset);
}
