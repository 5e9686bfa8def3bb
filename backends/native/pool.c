/* The threads of this process that share the points of a grid.

   One job at a time: `rw_pool_run` posts a span of points and works on it as if it were
   alone, share by share; workers that are awake take shares beside it.  It never waits
   for a worker that has taken none, so a processor that other programs (or another
   library's spinning threads) keep busy costs its own part and no more.  A caller that
   finds the pool taken does its whole span itself. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

typedef void (*rw_span)(void *const *buffers, int64_t begin, int64_t end);

enum {
  SHARES = 16,        /* of a thread, where points are many and cheap */
  AWAKE = 50 * 1000,  /* nanoseconds that an idle worker looks out for the next job */
  MOST = 1024,        /* workers */
  PATIENCE = 4096     /* looks before a thread that waits gives up its processor */
};

static struct {
  rw_span run;
  void *const *buffers;
  int64_t count, share;
} job; /* written only while `open` is 0 and nobody is inside */

static _Alignas(64) _Atomic int64_t next;    /* the first point that nobody has taken */
static _Alignas(64) _Atomic int open;        /* whether workers may take shares */
static _Alignas(64) _Atomic int inside;      /* workers that look at the job */
static _Alignas(64) _Atomic unsigned posted; /* jobs so far */
static _Atomic int asleep;

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int threads = 1; /* wanted, with the caller; under `owner` */
static int workers;     /* started; under `owner` */
static pthread_t crew[MOST];
static int place, placed; /* the processor that so many of them keep off */

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void take_shares(void) {
  for (;;) {
    int64_t begin = atomic_fetch_add(&next, job.share);
    if (begin >= job.count) return;
    int64_t end = begin + job.share;
    job.run(job.buffers, begin, end < job.count ? end : job.count);
  }
}

/* Sleeps until a job has been posted after number `seen`. */
static void sleep_after(unsigned seen) {
  pthread_mutex_lock(&bed);
  atomic_fetch_add(&asleep, 1); /* before the look at `posted`: see wake() */
  while (atomic_load(&posted) == seen) pthread_cond_wait(&bell, &bed);
  atomic_fetch_sub(&asleep, 1);
  pthread_mutex_unlock(&bed);
}

static void await_job(unsigned seen) {
  int64_t until = now() + AWAKE;
  do
    for (int i = 0; i < 64; i++) {
      if (atomic_load(&posted) != seen) return;
      relax();
    }
  while (now() < until);
  sleep_after(seen);
}

static void *worker(void *argument) {
  (void)argument;
  for (unsigned seen = 0;;) {
    await_job(seen);
    seen = atomic_load(&posted);
    /* Either this sees that the job is closed, or its owner sees that this is inside. */
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&open)) take_shares();
    atomic_fetch_sub(&inside, 1);
  }
  return 0;
}

static void wake(int wanted) {
  atomic_fetch_add(&posted, 1); /* before the look at `asleep`: see sleep_after() */
  if (!atomic_load(&asleep)) return;
  pthread_mutex_lock(&bed);
  if (wanted < atomic_load(&asleep))
    while (wanted--) pthread_cond_signal(&bell);
  else
    pthread_cond_broadcast(&bell);
  pthread_mutex_unlock(&bed);
}

/* Linux wakes a worker beside the caller, on a processor that they then share while
   another idles or another library's thread spins; so workers keep off the caller's. */
static void make_room(void) {
#ifdef __linux__
  int here = sched_getcpu();
  if (here < 0 || (here == place && placed == workers)) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
  if (CPU_COUNT(&allowed) > 1) CPU_CLR(here, &allowed);
  for (int i = 0; i < workers; i++)
    pthread_setaffinity_np(crew[i], sizeof allowed, &allowed);
  place = here, placed = workers;
#endif
}

static void start_workers(void) {
  sigset_t all, before;
  sigfillset(&all); /* signals are for the threads of the host program */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; workers < threads - 1; workers++) {
    if (pthread_create(&crew[workers], 0, worker, 0)) break; /* fewer do as well */
    pthread_detach(crew[workers]);
  }
  pthread_sigmask(SIG_SETMASK, &before, 0);
}

static void run_job(void) {
  atomic_store(&next, 0);
  atomic_store(&open, 1);
  int64_t shares = (job.count + job.share - 1) / job.share;
  wake((int)(shares < threads ? shares : threads) - 1);
  take_shares();
  atomic_store(&open, 0);
  for (int looks = 0; atomic_load(&inside); looks++)
    if (looks < PATIENCE)
      relax();
    else
      sched_yield();
}

/* `count` points, of which `least` are worth waking a thread for. */
void rw_pool_run(rw_span run, void *const *buffers, int64_t count, int64_t least) {
  if (pthread_mutex_trylock(&owner)) {
    run(buffers, 0, count);
    return;
  }
  int64_t share = count / (SHARES * (int64_t)threads);
  if (share < least) share = least;
  if (threads == 1 || share >= count) {
    pthread_mutex_unlock(&owner);
    run(buffers, 0, count);
    return;
  }
  start_workers();
  make_room();
  job.run = run, job.buffers = buffers, job.count = count, job.share = share;
  run_job();
  pthread_mutex_unlock(&owner);
}

/* A fork has its parent's memory and none of its workers. */
static void forget_workers(void) {
  pthread_mutex_init(&owner, 0);
  pthread_mutex_init(&bed, 0);
  pthread_cond_init(&bell, 0);
  atomic_store(&open, 0);
  atomic_store(&inside, 0);
  atomic_store(&asleep, 0);
  workers = placed = 0;
}

/* Sets and returns the threads that work on a job, the caller's own among them; one
   where forks cannot be watched. */
int rw_pool_threads(int count) {
  static int registered;
  pthread_mutex_lock(&owner);
  if (!registered) registered = !pthread_atfork(0, 0, forget_workers);
  threads = registered && count > 0 ? count : 1;
  if (threads > MOST) threads = MOST;
  pthread_mutex_unlock(&owner);
  return threads;
}
