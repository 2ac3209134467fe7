/*
 * Preloaded into a server (LD_PRELOAD): what it does to the files and folders under RECORD_UNDER, in the order in which that was
 * done, is appended to the file RECORD_TO. test/support/recorded-disk.ts reads it, and knows the numbers below.
 *
 * A call is recorded before it returns, so whatever follows from it stands behind it. A flush has two records: what
 * stands before the first of them is on disk when the second is there.
 *
 * A record is a header and `length` bytes. One `writev` appends it whole, also while other threads and processes do so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, FLUSH, FLUSHED, CREATE, MAKE_FOLDER, LINK, UNLINK, RENAME };

/** `number`: the offset of a write, the size after a truncation, the thread of a flush, the folder of a name. */
struct header {
  uint32_t kind, length;
  uint64_t file, number;
};

/* Microseconds, as on a disk: in memory a flush takes no time, and nothing happens meanwhile. */
static const long longestFlush = 4000;

#define DESCRIPTORS 65536
/** What was opened there: 0, or the number of a file or folder that is recorded. */
static uint64_t files[DESCRIPTORS];
static const char *under, *to;
static int record = -1;

__attribute__((constructor)) static void start(void) {
  under = getenv("RECORD_UNDER");
  to = getenv("RECORD_TO");
  if (under && to) record = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int watches(const char *path) {
  size_t length = record < 0 ? 0 : strlen(under);
  return length > 0 && strncmp(path, under, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static void append(uint32_t kind, uint64_t file, uint64_t number, const struct iovec *data, int parts) {
  int before = errno;
  struct header header = {kind, 0, file, number};
  struct iovec all[IOV_MAX] = {{&header, sizeof header}};
  for (int part = 0; part < parts && part < IOV_MAX - 1; part += 1) {
    all[part + 1] = data[part];
    header.length += data[part].iov_len;
  }
  /* A record that is cut would make a test pass that should not. */
  if (syscall(SYS_writev, record, all, parts + 1) != (long)(sizeof header + header.length)) abort();
  errno = before;
}

static uint64_t numberOf(int descriptor) {
  struct stat file;
  return fstat(descriptor, &file) == 0 && (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode)) ? file.st_ino : 0;
}

/** @returns 0 when it is not recorded, as a socket that has the descriptor of a file that was closed by a system call of its own. */
static uint64_t recorded(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS || files[descriptor] == 0) return 0;
  int before = errno;
  if (numberOf(descriptor) != files[descriptor]) files[descriptor] = 0;
  errno = before;
  return files[descriptor];
}

/** @returns 0 when there is no such file. */
static uint64_t numberAt(const char *path) {
  int before = errno;
  struct stat file;
  uint64_t number = lstat(path, &file) == 0 ? file.st_ino : 0;
  errno = before;
  return number;
}

/** `file` under the name of `path`, in the folder of `path`. */
static void appendName(uint32_t kind, uint64_t file, const char *path) {
  char folder[PATH_MAX];
  const char *name = strrchr(path, '/') + 1;
  snprintf(folder, sizeof folder, "%.*s", (int)(name - 1 - path), path);
  struct iovec data = {(void *)name, strlen(name)};
  append(kind, file, numberAt(folder), &data, 1);
}

/** What was written of the parts: a call may write less than it was asked to. */
static void appendWritten(int descriptor, uint64_t offset, const struct iovec *data, int parts, ssize_t written) {
  uint64_t file = written > 0 ? recorded(descriptor) : 0;
  if (file == 0) return;
  struct iovec kept[IOV_MAX];
  int count = 0;
  for (size_t left = written; left > 0 && count < parts; count += 1) {
    kept[count] = data[count];
    if (kept[count].iov_len > left) kept[count].iov_len = left;
    left -= kept[count].iov_len;
  }
  append(WRITE, file, offset, kept, count);
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  REAL(pwrite64);
  ssize_t written = real(descriptor, bytes, count, offset);
  struct iovec data = {(void *)bytes, count};
  appendWritten(descriptor, offset, &data, 1, written);
  return written;
}

ssize_t pwritev(int descriptor, const struct iovec *data, int parts, off_t offset) {
  REAL(pwritev);
  ssize_t written = real(descriptor, data, parts, offset);
  appendWritten(descriptor, offset, data, parts, written);
  return written;
}

/** Where the last write began that was at the place of the descriptor. */
static uint64_t placeBefore(int descriptor, ssize_t written) {
  return lseek(descriptor, 0, SEEK_CUR) - written;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  REAL(write);
  ssize_t written = real(descriptor, bytes, count);
  struct iovec data = {(void *)bytes, count};
  if (recorded(descriptor)) appendWritten(descriptor, placeBefore(descriptor, written), &data, 1, written);
  return written;
}

ssize_t writev(int descriptor, const struct iovec *data, int parts) {
  REAL(writev);
  ssize_t written = real(descriptor, data, parts);
  if (recorded(descriptor)) appendWritten(descriptor, placeBefore(descriptor, written), data, parts, written);
  return written;
}

int ftruncate64(int descriptor, off64_t size) {
  REAL(ftruncate64);
  int result = real(descriptor, size);
  uint64_t file = result == 0 ? recorded(descriptor) : 0;
  if (file != 0) append(TRUNCATE, file, size, NULL, 0);
  return result;
}

static int recordFlush(int descriptor, int (*flush)(int)) {
  uint64_t file = recorded(descriptor), thread = (uint64_t)getpid() << 32 | (uint64_t)syscall(SYS_gettid);
  if (file == 0) return flush(descriptor);
  append(FLUSH, file, thread, NULL, 0);
  usleep(random() % longestFlush);
  int result = flush(descriptor);
  if (result == 0) append(FLUSHED, file, thread, NULL, 0);
  return result;
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  return recordFlush(descriptor, real);
}

int fsync(int descriptor) {
  REAL(fsync);
  return recordFlush(descriptor, real);
}

static int opened(int descriptor, const char *path, int flags, uint64_t before) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS) return descriptor;
  uint64_t file = watches(path) ? numberOf(descriptor) : 0;
  files[descriptor] = file;
  if (file == 0) return descriptor;
  if (flags & O_CREAT && before == 0) appendName(CREATE, file, path);
  else if (flags & O_TRUNC) append(TRUNCATE, file, 0, NULL, 0);
  return descriptor;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
    uint64_t before = flags & O_CREAT && watches(path) ? numberAt(path) : 0; \
    return opened(real(path, flags, mode), path, flags, before); \
  }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
  REAL(close);
  if (descriptor >= 0 && descriptor < DESCRIPTORS) files[descriptor] = 0;
  return real(descriptor);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  int result = real(path, mode);
  if (result == 0 && watches(path)) appendName(MAKE_FOLDER, numberAt(path), path);
  return result;
}

int link(const char *from, const char *path) {
  REAL(link);
  int result = real(from, path);
  if (result == 0 && watches(path)) appendName(LINK, numberAt(path), path);
  return result;
}

int unlink(const char *path) {
  REAL(unlink);
  int result = real(path);
  if (result == 0 && watches(path)) appendName(UNLINK, 0, path);
  return result;
}

/** Within a folder, as all of ours are: the new name takes the place of the old one at once. */
int rename(const char *from, const char *path) {
  REAL(rename);
  uint64_t file = watches(path) ? numberAt(from) : 0;
  int result = real(from, path);
  if (result != 0 || file == 0) return result;
  const char *old = strrchr(from, '/') + 1, *new = strrchr(path, '/') + 1;
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%.*s", (int)(new - 1 - path), path);
  struct iovec names[] = {{(void *)old, strlen(old) + 1}, {(void *)new, strlen(new)}};
  append(RENAME, file, numberAt(folder), names, 2);
  return result;
}
