/* A disk that loses power, as a preloaded library.
 *
 * The program under test runs on ordinary files below POWERLOSS_ROOT. Beside them this library
 * keeps, below POWERLOSS_SHADOW, exactly what POSIX promises would survive if the power failed now:
 *
 *   files/<id>  a file's bytes and size as of its last successful fsync or fdatasync
 *   dirs/<id>   a directory's names as of the last fsync of that directory
 *   control     a shared page of counters and injected faults, see struct control
 *
 * A file that was never synced is empty there; a name that was made, renamed or removed since the
 * last fsync of its directory is as it was before. `shadow.py` turns this into a directory again.
 *
 * Names are not followed call by call. When a directory is synced, it is listed, so a rename made by
 * a raw system call (the `rustix` crate makes some) is seen like any other. Bytes are followed by
 * noting the ranges that write calls touch; where a range cannot be known (a fresh descriptor, a
 * truncation, a mapping), the whole file is copied at the next sync. The audit flag compares every
 * synced file with its shadow and aborts on a difference: it proves that no write was missed.
 *
 * sync, syncfs, sync_file_range and msync give no durability here. That errs on the strict side.
 *
 * Identity is an extended attribute on each inode, so a reused inode number is a new file.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ATTRIBUTE "user.powerloss"
#define ID_MAX 64
#define DESCRIPTORS_MAX 65536
#define EXTENTS_MAX 256
#define BUCKETS 4096

/* Shared with the runner (shadow.py, class Control): 64-bit fields in this order. */
struct control {
    _Atomic int64_t syncs;          /* syncs of ours so far that the fault filter matches */
    _Atomic int64_t fail_sync_at;   /* the sync with this number fails with EIO; 0: none */
    _Atomic int64_t only_journals;  /* count and fail only files whose name ends with .jnl */
    _Atomic int64_t space_left;     /* bytes that may still be written, then ENOSPC; -1: endless */
    _Atomic int64_t faults;         /* errors injected so far */
    _Atomic int64_t delay_us;       /* each sync first sleeps up to this long */
    _Atomic int64_t audit;          /* compare each synced file with its shadow */
    _Atomic int64_t first_fault_ns; /* CLOCK_MONOTONIC of the first injected error */
    _Atomic int64_t freeze_at;      /* from this sync on, none returns: the power failed; 0: never */
    _Atomic int64_t frozen;         /* set once that has happened */
    _Atomic int64_t all_syncs;      /* syncs of ours so far, whatever the filter */
};

struct extent {
    off_t start, end;
};

/* One file or directory below the root. Records live as long as the process. */
struct record {
    char id[ID_MAX];
    bool is_directory, is_journal;
    pthread_mutex_t syncing; /* one sync of this file at a time */
    bool whole;              /* guarded by `dirty_lock`, like the two below */
    int extent_count;
    struct extent extents[EXTENTS_MAX];
    struct record *next;
};

static char root[PATH_MAX], shadow[PATH_MAX];
static size_t root_length;
static struct control *control;
static struct record not_ours; /* marks descriptors that are sockets or files elsewhere */
static _Atomic(struct record *) descriptors[DESCRIPTORS_MAX];
static struct record *buckets[BUCKETS];
static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t dirty_lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what) {
    dprintf(2, "powerloss shim: %s: %s\n", what, strerror(errno));
    abort();
}

/* The next definition of a libc function behind ours. */
#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) die(name);
    return found;
}

/* Raw calls for the shim's own files, so that it never meets its own hooks. */
static int raw_open(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
}
static void raw_close(int fd) { syscall(SYS_close, fd); }

static void shadow_path(char *out, const char *kind, const char *id, const char *suffix) {
    snprintf(out, PATH_MAX, "%s/%s/%s%s", shadow, kind, id, suffix);
}

__attribute__((constructor)) static void start(void) {
    const char *given_root = getenv("POWERLOSS_ROOT"), *given_shadow = getenv("POWERLOSS_SHADOW");
    if (!given_root || !given_shadow) return;
    if (!realpath(given_root, root)) die(given_root);
    if (!realpath(given_shadow, shadow)) die(given_shadow);
    root_length = strlen(root);
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/control", shadow);
    int fd = raw_open(path, O_RDWR);
    if (fd < 0) die(path);
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) die("control page");
    raw_close(fd);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* The id of the inode at `path` (a /proc/self/fd link or a name below one), given on first sight. */
static bool identify(const char *path, char id[ID_MAX]) {
    static _Atomic uint64_t counter;
    for (int attempt = 0; attempt < 2; attempt++) {
        ssize_t length = getxattr(path, ATTRIBUTE, id, ID_MAX - 1);
        if (length > 0) {
            id[length] = 0;
            return true;
        }
        if (errno == ENOENT) return false;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(id, ID_MAX, "%lx-%x-%lx", (long)now.tv_sec * 1000000000 + now.tv_nsec, getpid(),
                 (long)counter++);
        if (setxattr(path, ATTRIBUTE, id, strlen(id), XATTR_CREATE) == 0) return true;
        if (errno == ENOENT) return false;
        if (errno != EEXIST) die("cannot mark a file (the file system needs user attributes)");
    }
    return false;
}

static struct record *find_record(const char *id, bool is_directory, bool is_journal) {
    unsigned hash = 5381;
    for (const char *c = id; *c; c++) hash = hash * 33 + (unsigned char)*c;
    struct record **bucket = &buckets[hash % BUCKETS];
    pthread_mutex_lock(&records_lock);
    struct record *record = *bucket;
    while (record && strcmp(record->id, id)) record = record->next;
    if (!record) {
        record = calloc(1, sizeof *record);
        if (!record) die("memory");
        snprintf(record->id, ID_MAX, "%s", id);
        record->is_directory = is_directory;
        record->is_journal = is_journal;
        pthread_mutex_init(&record->syncing, NULL);
        record->next = *bucket;
        *bucket = record;
    }
    pthread_mutex_unlock(&records_lock);
    return record;
}

static bool is_below_root(const char *path) {
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

static void mark_whole(struct record *record) {
    pthread_mutex_lock(&dirty_lock);
    record->whole = true;
    pthread_mutex_unlock(&dirty_lock);
}

/* What a descriptor not seen before points to. Its opening may have truncated the file, and an
 * earlier process may have left unsynced bytes in it: all of the file counts as changed. */
static struct record *classify(int fd) {
    struct stat status;
    if (fstat(fd, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return &not_ours;
    char link[64], path[PATH_MAX], id[ID_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return &not_ours;
    path[length] = 0;
    if (!is_below_root(path) || !identify(link, id)) return &not_ours;
    bool is_journal = length > 4 && strcmp(path + length - 4, ".jnl") == 0;
    struct record *record = find_record(id, S_ISDIR(status.st_mode), is_journal);
    mark_whole(record);
    return record;
}

/* The record behind a descriptor, or null when it is none of ours. */
static struct record *lookup(int fd) {
    if (!control || fd < 0 || fd >= DESCRIPTORS_MAX) return NULL;
    struct record *record = atomic_load(&descriptors[fd]);
    if (!record) {
        int saved = errno;
        record = classify(fd);
        errno = saved;
        atomic_store(&descriptors[fd], record);
    }
    return record == &not_ours ? NULL : record;
}

static void forget(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS_MAX) atomic_store(&descriptors[fd], NULL);
}

/* ---- what changed since the last sync -------------------------------------------------------- */

/* Called after the write: a sync that runs between the write and this note need not have seen it,
 * because the write had not returned; the next sync will. */
static void mark_range(struct record *record, off_t start, off_t end) {
    pthread_mutex_lock(&dirty_lock);
    struct extent *last = record->extents + record->extent_count - 1;
    if (record->extent_count && start >= last->start && start <= last->end) {
        if (end > last->end) last->end = end;
    } else if (record->extent_count < EXTENTS_MAX) {
        record->extents[record->extent_count++] = (struct extent){start, end};
    } else {
        record->whole = true;
    }
    pthread_mutex_unlock(&dirty_lock);
}

static void mark_written(struct record *record, int fd, ssize_t written) {
    int saved = errno;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (end < written) mark_whole(record);
    else mark_range(record, end - written, end);
    errno = saved;
}

/* ---- making it durable ----------------------------------------------------------------------- */

static void copy_range(int from, int to, off_t start, off_t end) {
    static _Thread_local char buffer[1 << 16];
    while (start < end) {
        size_t want = end - start > (off_t)sizeof buffer ? sizeof buffer : (size_t)(end - start);
        ssize_t got = syscall(SYS_pread64, from, buffer, want, start);
        if (got < 0) die("read of a synced file");
        if (got == 0) return; /* cut shorter meanwhile */
        if (syscall(SYS_pwrite64, to, buffer, (size_t)got, start) != got) die("write of a shadow file");
        start += got;
    }
}

/* Copies a file beside its shadow and swaps, so that a kill in between loses nothing durable.
 * Holes stay holes: journals are preallocated far beyond their content. */
static void copy_whole(struct record *record, int from, off_t size) {
    char final[PATH_MAX], temporary[PATH_MAX];
    shadow_path(final, "files", record->id, "");
    shadow_path(temporary, "files", record->id, ".new");
    int to = raw_open(temporary, O_RDWR | O_CREAT | O_TRUNC);
    if (to < 0 || syscall(SYS_ftruncate, to, size)) die(temporary);
    off_t start = 0;
    while (start < size && (start = lseek(from, start, SEEK_DATA)) >= 0) {
        off_t end = lseek(from, start, SEEK_HOLE);
        if (end < 0 || end > size) end = size;
        copy_range(from, to, start, end);
        start = end;
    }
    raw_close(to);
    if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, final, 0)) die(final);
}

static void audit(struct record *record, int from, off_t size) {
    static _Thread_local char real_bytes[1 << 16], shadow_bytes[1 << 16];
    char path[PATH_MAX];
    shadow_path(path, "files", record->id, "");
    int fd = raw_open(path, O_RDONLY);
    for (off_t at = 0; at < size; at += sizeof real_bytes) {
        ssize_t a = syscall(SYS_pread64, from, real_bytes, sizeof real_bytes, at);
        ssize_t b = syscall(SYS_pread64, fd, shadow_bytes, sizeof shadow_bytes, at);
        if (a != b || memcmp(real_bytes, shadow_bytes, (size_t)a)) die("audit: a write was missed");
    }
    raw_close(fd);
}

static void persist_file(struct record *record, int fd) {
    char path[PATH_MAX];
    /* The descriptor may be write-only and its offset is the program's: read through our own. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int from = raw_open(path, O_RDONLY);
    if (from < 0) die(path);
    pthread_mutex_lock(&dirty_lock);
    bool whole = record->whole;
    int count = record->extent_count;
    struct extent extents[EXTENTS_MAX];
    memcpy(extents, record->extents, sizeof(struct extent) * (size_t)count);
    record->whole = false;
    record->extent_count = 0;
    pthread_mutex_unlock(&dirty_lock);
    struct stat status;
    if (fstat(from, &status)) die("stat");
    shadow_path(path, "files", record->id, "");
    int to = whole ? -1 : raw_open(path, O_RDWR);
    if (to < 0) {
        copy_whole(record, from, status.st_size);
    } else {
        for (int i = 0; i < count; i++) copy_range(from, to, extents[i].start, extents[i].end);
        if (syscall(SYS_ftruncate, to, status.st_size)) die("size of a shadow file");
        raw_close(to);
    }
    if (control->audit) audit(record, from, status.st_size);
    raw_close(from);
}

static void persist_directory(struct record *record, int fd) {
    char final[PATH_MAX], temporary[PATH_MAX], path[PATH_MAX], id[ID_MAX];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int listing = raw_open(path, O_RDONLY | O_DIRECTORY);
    DIR *directory = listing < 0 ? NULL : fdopendir(listing);
    shadow_path(final, "dirs", record->id, "");
    shadow_path(temporary, "dirs", record->id, ".new");
    int out = raw_open(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!directory || out < 0) die(temporary);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char child[PATH_MAX], line[PATH_MAX];
        snprintf(child, sizeof child, "/proc/self/fd/%d/%s", listing, entry->d_name);
        struct stat status;
        if (lstat(child, &status) || !identify(child, id)) continue; /* gone since it was listed */
        char kind = S_ISDIR(status.st_mode) ? 'd' : 'f';
        int length = snprintf(line, sizeof line, "%c %s %s\n", kind, id, entry->d_name);
        if (syscall(SYS_write, out, line, (size_t)length) != length) die(temporary);
    }
    closedir(directory);
    raw_close(out);
    if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, final, 0)) die(final);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static int fault(int error) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (control->faults++ == 0) control->first_fault_ns = now.tv_sec * 1000000000L + now.tv_nsec;
    errno = error;
    return -1;
}

/* The moment of the power loss, to the sync: the caller waits for ever and the runner kills it. */
static void freeze_if_due(void) {
    int64_t number = ++control->all_syncs, limit = control->freeze_at;
    if (limit <= 0 || number < limit) return;
    control->frozen = 1;
    for (;;) pause();
}

static bool sync_must_fail(struct record *record) {
    if (control->only_journals && !record->is_journal) return false;
    return ++control->syncs == control->fail_sync_at;
}

/* As Linux does: after a failed sync the pages count as clean, so the bytes are lost for good and
 * the next sync of the file succeeds. A program that tries again and trusts it has lost data. */
static void lose_changes(struct record *record) {
    pthread_mutex_lock(&dirty_lock);
    record->whole = false;
    record->extent_count = 0;
    pthread_mutex_unlock(&dirty_lock);
}

/* How many of `wanted` bytes still fit on the disk; -1 with ENOSPC when none do. */
static ssize_t reserve(size_t wanted) {
    int64_t left = control->space_left;
    do {
        if (left < 0 || wanted == 0) return (ssize_t)wanted;
        if (left == 0) return fault(ENOSPC);
    } while (!atomic_compare_exchange_weak(&control->space_left, &left,
                                           left > (int64_t)wanted ? left - (int64_t)wanted : 0));
    return left < (int64_t)wanted ? (ssize_t)left : (ssize_t)wanted;
}

static bool is_disk_full(void) { return control && control->space_left == 0; }

/* ---- hooks: sync ----------------------------------------------------------------------------- */

static int sync_descriptor(int fd, int (*real_sync)(int)) {
    struct record *record = lookup(fd);
    if (!record) return real_sync(fd);
    if (control->delay_us > 0) usleep((useconds_t)(random() % control->delay_us));
    freeze_if_due();
    pthread_mutex_lock(&record->syncing);
    int result = 0;
    if (sync_must_fail(record)) {
        lose_changes(record);
        result = fault(EIO);
    } else if (record->is_directory) {
        persist_directory(record, fd);
    } else {
        persist_file(record, fd);
    }
    int saved = errno;
    pthread_mutex_unlock(&record->syncing);
    errno = saved;
    return result; /* the real sync is left out: only the shadow has to survive */
}

int fsync(int fd) { return sync_descriptor(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_descriptor(fd, REAL(fdatasync)); }

/* ---- hooks: bytes ---------------------------------------------------------------------------- */

ssize_t write(int fd, const void *bytes, size_t count) {
    static _Atomic(__typeof__(&write)) next;
    __typeof__(&write) call = next ? next : (next = REAL(write));
    struct record *record = lookup(fd);
    if (!record) return call(fd, bytes, count);
    ssize_t allowed = reserve(count);
    if (allowed < 0) return -1;
    ssize_t written = call(fd, bytes, (size_t)allowed);
    if (written > 0) mark_written(record, fd, written);
    return written;
}

/* A short count is a legal answer of writev, so a nearly full disk takes the first buffer only. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    static _Atomic(__typeof__(&writev)) next;
    __typeof__(&writev) call = next ? next : (next = REAL(writev));
    struct record *record = lookup(fd);
    if (!record) return call(fd, parts, count);
    size_t total = 0;
    for (int i = 0; i < count; i++) total += parts[i].iov_len;
    ssize_t allowed = reserve(total);
    if (allowed < 0) return -1;
    if ((size_t)allowed < total) {
        size_t first = parts[0].iov_len < (size_t)allowed ? parts[0].iov_len : (size_t)allowed;
        ssize_t written = REAL(write)(fd, parts[0].iov_base, first);
        if (written > 0) mark_written(record, fd, written);
        return written;
    }
    ssize_t written = call(fd, parts, count);
    if (written > 0) mark_written(record, fd, written);
    return written;
}

#define HOOK_PWRITE(name, offset_type)                                                  \
    ssize_t name(int fd, const void *bytes, size_t count, offset_type offset) {         \
        struct record *record = lookup(fd);                                             \
        ssize_t allowed = record ? reserve(count) : (ssize_t)count;                     \
        if (allowed < 0) return -1;                                                     \
        ssize_t written = REAL(name)(fd, bytes, (size_t)allowed, offset);               \
        if (record && written > 0) mark_range(record, offset, offset + written);        \
        return written;                                                                 \
    }
HOOK_PWRITE(pwrite, off_t)
HOOK_PWRITE(pwrite64, off64_t)

/* Rare calls: let them through while there is room, and take the whole file as changed. */
#define HOOK_RARE(type, name, parameters, arguments, fd)            \
    type name parameters {                                          \
        struct record *record = lookup(fd);                         \
        if (record && is_disk_full()) return fault(ENOSPC);         \
        type result = REAL(name) arguments;                         \
        if (record) mark_whole(record);                             \
        return result;                                              \
    }
HOOK_RARE(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t o), (fd, v, n, o), fd)
HOOK_RARE(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t o), (fd, v, n, o), fd)
HOOK_RARE(int, fallocate, (int fd, int mode, off_t o, off_t n), (fd, mode, o, n), fd)
HOOK_RARE(int, fallocate64, (int fd, int mode, off64_t o, off64_t n), (fd, mode, o, n), fd)
HOOK_RARE(ssize_t, copy_file_range,
          (int in, off64_t *i, int out, off64_t *o, size_t n, unsigned f), (in, i, out, o, n, f), out)

/* Changing the size makes or frees a hole and needs no room, so it works on a full disk. */
#define HOOK_RESIZE(name, offset_type)                  \
    int name(int fd, offset_type size) {                \
        struct record *record = lookup(fd);             \
        int result = REAL(name)(fd, size);              \
        if (record) mark_whole(record);                 \
        return result;                                  \
    }
HOOK_RESIZE(ftruncate, off_t)
HOOK_RESIZE(ftruncate64, off64_t)

/* ---- hooks: descriptors ---------------------------------------------------------------------- */

int close(int fd) {
    static _Atomic(__typeof__(&close)) next;
    __typeof__(&close) call = next ? next : (next = REAL(close));
    forget(fd); /* before: once closed, the number may at once be somebody else's */
    return call(fd);
}

int dup2(int from, int to) {
    forget(to);
    return REAL(dup2)(from, to);
}

int dup3(int from, int to, int flags) {
    forget(to);
    return REAL(dup3)(from, to, flags);
}

/* A file created on a full disk fails; so does a directory. Everything else about opening is seen
 * when the descriptor is first written or synced. */
static bool creation_must_fail(int directory, const char *path, int flags) {
    if (!(flags & O_CREAT) || !is_disk_full()) return false;
    struct stat status;
    if (fstatat(directory, path, &status, 0) == 0) return false;
    if (path[0] == '/' && !is_below_root(path)) return false;
    fault(ENOSPC);
    return true;
}

#define MODE_ARGUMENT(flags)                            \
    mode_t mode = 0;                                    \
    if ((flags) & (O_CREAT | O_TMPFILE)) {              \
        va_list rest;                                   \
        va_start(rest, flags);                          \
        mode = va_arg(rest, mode_t);                    \
        va_end(rest);                                   \
    }

#define HOOK_OPEN(name)                                                         \
    int name(const char *path, int flags, ...) {                                \
        MODE_ARGUMENT(flags)                                                    \
        if (creation_must_fail(AT_FDCWD, path, flags)) return -1;               \
        return REAL(name)(path, flags, mode);                                   \
    }
HOOK_OPEN(open)
HOOK_OPEN(open64)

#define HOOK_OPENAT(name)                                                       \
    int name(int directory, const char *path, int flags, ...) {                 \
        MODE_ARGUMENT(flags)                                                    \
        if (creation_must_fail(directory, path, flags)) return -1;              \
        return REAL(name)(directory, path, flags, mode);                        \
    }
HOOK_OPENAT(openat)
HOOK_OPENAT(openat64)

int mkdir(const char *path, mode_t mode) {
    if (creation_must_fail(AT_FDCWD, path, O_CREAT)) return -1;
    return REAL(mkdir)(path, mode);
}

/* A shared writable mapping changes the file without a call. None is expected, so say so. */
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    if (fd >= 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED) && lookup(fd))
        die("a file under test was mapped for writing; this shim cannot follow that");
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap64(address, length, protection, flags, fd, offset);
}
