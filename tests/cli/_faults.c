/* A library to preload (LD_PRELOAD) that lets system calls on chosen files fail, as a full disk, a quota, a file system
   without locks or a dying disk would.

   FAULT_PATH   only files whose path contains this text
   FAULT_CALL   write, open, sync, rename, truncate, reserve, lock
   FAULT_ERRNO  the error, a number
   FAULT_AT     the call that fails, counted from 1 in each process; 0: none
   FAULT_ONCE   set: only this call; otherwise all later ones as well
   FAULT_SHORT  set: the first failing write takes half of its bytes, and only the next ones fail
   FAULT_RANK   only on this rank of an MPI job
   FAULT_LOG    a file that receives one line per counted call */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static int this_rank(void) {
  const char* names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
  for (int i = 0; i < 3; ++i)
    if (getenv(names[i])) return atoi(getenv(names[i]));
  return 0;
}

enum outcome { passes, fails, is_short };

static enum outcome judge(const char* call, const char* path) {
  static int count = 0;
  const char *wanted = getenv("FAULT_PATH"), *calls = getenv("FAULT_CALL"), *log = getenv("FAULT_LOG");
  if (!wanted || !calls || strcmp(calls, call) != 0 || !strstr(path, wanted)) return passes;
  if (getenv("FAULT_RANK") && number("FAULT_RANK", 0) != this_rank()) return passes;
  const int now = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST), at = number("FAULT_AT", 0);
  if (log) {
    char line[PATH_MAX + 64];
    const int length = snprintf(line, sizeof line, "%d %s %s\n", now, call, path);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd >= 0) {
      if (syscall(SYS_write, fd, line, (size_t)length) < 0) abort();
      syscall(SYS_close, fd);
    }
  }
  if (at == 0 || now < at || (now > at && getenv("FAULT_ONCE"))) return passes;
  if (getenv("FAULT_SHORT") && now == at) return is_short;
  errno = number("FAULT_ERRNO", EIO);
  return fails;
}

static enum outcome judge_fd(const char* call, int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return passes;
  path[length] = '\0';
  return judge(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITE(name, parameters, arguments, halved)        \
  ssize_t name parameters {                               \
    const enum outcome outcome = judge_fd("write", fd);   \
    if (outcome == fails) return -1;                      \
    return outcome == is_short && count > 1 ? NEXT(name) halved : NEXT(name) arguments; \
  }
WRITE(write, (int fd, const void* data, size_t count), (fd, data, count), (fd, data, count / 2))
WRITE(pwrite, (int fd, const void* data, size_t count, off_t at), (fd, data, count, at), (fd, data, count / 2, at))
WRITE(pwrite64, (int fd, const void* data, size_t count, off64_t at), (fd, data, count, at), (fd, data, count / 2, at))

/* What goes through a FILE reaches the system inside of the C library, out of reach: it fails where it is handed over. */
size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  return size > 0 && count > 0 && judge_fd("write", fileno(file)) == fails ? 0 : NEXT(fwrite)(data, size, count, file);
}

int fsync(int fd) { return judge_fd("sync", fd) == fails ? -1 : NEXT(fsync)(fd); }
int flock(int fd, int operation) {
  return (operation & LOCK_UN) == 0 && judge_fd("lock", fd) == fails ? -1 : NEXT(flock)(fd, operation);
}
int ftruncate(int fd, off_t size) { return judge_fd("truncate", fd) == fails ? -1 : NEXT(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return judge_fd("truncate", fd) == fails ? -1 : NEXT(ftruncate64)(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t size) {
  return judge_fd("reserve", fd) == fails ? -1 : NEXT(fallocate)(fd, mode, at, size);
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  return judge_fd("reserve", fd) == fails ? -1 : NEXT(fallocate64)(fd, mode, at, size);
}
int rename(const char* from, const char* to) {
  return judge("rename", to) == fails ? -1 : NEXT(rename)(from, to);
}

FILE* fopen(const char* path, const char* mode) {
  return mode[0] != 'r' && judge("open", path) == fails ? NULL : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return mode[0] != 'r' && judge("open", path) == fails ? NULL : NEXT(fopen64)(path, mode);
}

/* Only files that are opened for writing. */
#define OPEN(name)                                                                     \
  int name(const char* path, int flags, ...) {                                         \
    va_list rest;                                                                      \
    va_start(rest, flags);                                                             \
    const mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;                  \
    va_end(rest);                                                                      \
    if ((flags & O_ACCMODE) != O_RDONLY && judge("open", path) == fails) return -1;    \
    return NEXT(name)(path, flags, mode);                                              \
  }
OPEN(open)
OPEN(open64)
