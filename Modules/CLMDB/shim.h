#include <lmdb.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* Whether the process may make a file so long. */
static inline _Bool dunlin_may_reach(int64_t length) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || (rlim_t)length <= limit.rlim_cur;
}

/* Tells the processor which memory is likely to be read soon. It reads nothing, so that any address will do. */
static inline void dunlin_prefetch(uintptr_t address, size_t count) {
  for (size_t offset = 0; offset < count; offset += 64) __builtin_prefetch((const void *)(address + offset));
}

#ifdef __linux__
#include <errno.h>
#include <pthread.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A GNU addition, which its header may hide. */
extern int pthread_getattr_np(pthread_t, pthread_attr_t *);

/* Bytes of the calling thread's stack; 0 where the system does not tell. */
static inline size_t dunlin_stack_bytes(void) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  size_t count = 0;
  if (pthread_attr_getstacksize(&attributes, &count) != 0) count = 0;
  pthread_attr_destroy(&attributes);
  return count;
}

/* When an open file was made, in nanoseconds since 1970; 0 where its file system does not keep that. */
static inline uint64_t dunlin_file_birth(int descriptor) {
  struct statx status;
  if (syscall(SYS_statx, descriptor, "", 0x1000 /* AT_EMPTY_PATH */, STATX_BTIME, &status) != 0) return 0;
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  return (uint64_t)status.stx_btime.tv_sec * 1000000000u + status.stx_btime.tv_nsec;
}

/* The number that names an open file's file system, and differs between its snapshots; 0 where unknown. */
static inline uint64_t dunlin_file_system(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return 0;
  return (uint64_t)(uint32_t)status.f_fsid.__val[0] << 32 | (uint32_t)status.f_fsid.__val[1];
}

/* The kind of file system that an open file is on, as statfs names it; 0 where unknown. */
static inline uint32_t dunlin_file_system_kind(int descriptor) {
  struct statfs status;
  return fstatfs(descriptor, &status) == 0 ? (uint32_t)status.f_type : 0;
}

/* Gives an open file room on disk beyond its end, without making it longer: 0, or what the system reports. */
static inline int dunlin_reserve(int descriptor, int64_t offset, int64_t length) {
  /* 1 is FALLOC_FL_KEEP_SIZE. */
  return syscall(SYS_fallocate, descriptor, 1L, (long)offset, (long)length) == 0 ? 0 : errno;
}

/* Exchanges two names of a directory: 0, or what the system reports. */
static inline int dunlin_exchange(int directory, const char *one, const char *other) {
  /* 2 is RENAME_EXCHANGE. */
  return syscall(SYS_renameat2, directory, one, directory, other, 2u) == 0 ? 0 : errno;
}
#else
#include <errno.h>

/* Elsewhere files are not exchanged but replaced. */
static inline int dunlin_exchange(int directory, const char *one, const char *other) {
  (void)directory, (void)one, (void)other;
  return ENOTSUP;
}
#endif
