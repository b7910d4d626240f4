//! Snapshots of programs that go on: asked for by a signal, taken from time
//! to time, and all that is left of a program that was killed.

mod support;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use leakscope_trace::{Process, Record, read_folder};
use leakscope_wire::Reason;
use support::{Folder, Ran};

/// Says its number, then lives until its input ends.
const SERVER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define KEEP(value) __asm__ volatile(\"\" : \"+r\"(value) : : \"memory\")

static char *request;

static void fail(void) { char *error = malloc(66); KEEP(error); error = NULL; KEEP(error); }

int main(void) {
    request = malloc(7000);
    fail();
    printf(\"%d\\n\", (int)getpid());
    fflush(stdout);
    while (getchar() != EOF) {}
    free(request);
    request = NULL;
    puts(\"done\");
    return 0;
}
";

/// Threads that wait in every way, each with a block that only a register
/// holds. Waiting must not be cut short.
const WAITERS: &str = "\
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define KEEP(value) __asm__ volatile(\"\" : \"+r\"(value) : : \"memory\")

static int quiet[2], talk[2], limited[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t closed;
static atomic_int threads[16], returned;

static void in_poll(void) { struct pollfd one = {quiet[0], POLLIN, 0}; poll(&one, 1, -1); }
static void in_read(void) { char byte; (void)!read(quiet[0], &byte, 1); }
static void in_recv(void) { char byte; recv(talk[0], &byte, 1, 0); }
static void in_timed_recv(void) { char byte; recv(limited[0], &byte, 1, 0); }
static void in_timed_read(void) { char byte; (void)!read(limited[0], &byte, 1); }
static void in_nanosleep(void) { struct timespec long_time = {100000, 0}; nanosleep(&long_time, NULL); }
static void in_sleep(void) { sleep(100000); }
static void in_usleep(void) { usleep(4000000000u); }
static void in_pause(void) { pause(); }
static void in_semaphore(void) { while (sem_wait(&closed) && 0) {} }
static void in_select(void) { fd_set set; FD_ZERO(&set); FD_SET(quiet[0], &set); select(quiet[0] + 1, &set, NULL, NULL, NULL); }
static void in_epoll(void) { struct epoll_event event; epoll_wait(epoll_create1(0), &event, 1, -1); }
static void in_condition(void) { pthread_mutex_lock(&lock); pthread_cond_wait(&never, &lock); }

static void (*const ways[])(void) = {in_poll, in_read, in_recv, in_timed_recv, in_timed_read, in_nanosleep, in_sleep, in_usleep, in_pause,
                                     in_semaphore, in_select, in_epoll, in_condition};
enum { COUNT = sizeof ways / sizeof *ways };

static void *wait_somehow(void *number) {
    size_t way = (size_t)number;
    char *block = malloc(100 + way);
    KEEP(block);
    threads[way] = gettid();
    ways[way]();
    returned++;
    free(block);
    return NULL;
}

static char state_of(int thread) {
    char path[64], text[256] = \"\", *end;
    snprintf(path, sizeof path, \"/proc/self/task/%d/stat\", thread);
    FILE *file = fopen(path, \"r\");
    end = fgets(text, sizeof text, file);
    fclose(file);
    while (*end != ')') end++;
    return end[2];
}

static void fail(void) { char *error = malloc(66); KEEP(error); error = NULL; KEEP(error); }

int main(void) {
    pthread_t thread;
    fail();
    sem_init(&closed, 0, 0);
    (void)!pipe(quiet);
    socketpair(AF_UNIX, SOCK_STREAM, 0, talk);
    socketpair(AF_UNIX, SOCK_STREAM, 0, limited);
    setsockopt(limited[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){100000, 0}, sizeof(struct timeval));
    for (size_t i = 0; i < COUNT; i++)
        pthread_create(&thread, NULL, wait_somehow, (void *)i);
    for (int i = 0; i < COUNT; i++)
        while (!threads[i] || state_of(threads[i]) != 'S')
            sched_yield();
    printf(\"%d\\n\", (int)getpid());
    fflush(stdout);
    while (getchar() != EOF) {}
    printf(\"%d of %d returned\\n\", returned, COUNT);
    return 0;
}
";

#[test]
fn on_a_signal() {
    for engine in ["track", "preload", "valgrind"] {
        let server = Server::start(SERVER, engine, "--snapshot-signal USR2");
        for number in 0..2 {
            server.signal(libc::SIGUSR2);
            server.wait_for_record(number);
        }
        let (ran, processes) = server.finish();
        let [process] = &processes[..] else { panic!("{ran:?}") };
        assert_eq!((ran.code, ran.stdout.as_str()), (23, "done\n"), "{engine}: {ran:?}");
        assert_eq!(lost_bytes(process), [vec![66], vec![66], vec![66]], "{engine}");
        assert_eq!(held(process, 1, 7000), [true, true, false], "{engine}");
        assert_eq!(reasons(process), [Reason::Snapshot, Reason::Snapshot, Reason::Exit]);
        let json = ran.json();
        assert_eq!(json["summary"]["lost"]["bytes"], 66);
        assert_eq!(
            json["findings"][0]["evidence"]["snapshots"].as_array().map(Vec::len),
            Some(2),
            "{json:#}"
        );
    }
}

#[test]
fn from_time_to_time() {
    for engine in ["track", "preload"] {
        let server = Server::start(SERVER, engine, "--snapshot-every 0.05");
        server.wait_for_record(2);
        let (ran, processes) = server.finish();
        let [process] = &processes[..] else { panic!("{ran:?}") };
        assert_eq!((ran.code, ran.stdout.as_str()), (23, "done\n"), "{engine}: {ran:?}");
        assert!(process.records.len() >= 4, "{engine}: {} records", process.records.len());
        assert!(lost_bytes(process).iter().all(|lost| lost[..] == [66]), "{engine}");
    }
}

#[test]
fn a_killed_program_leaves_its_last_snapshot() {
    for engine in ["track", "preload", "valgrind"] {
        let server = Server::start(SERVER, engine, "--snapshot-signal USR2");
        server.signal(libc::SIGUSR2);
        server.wait_for_record(0);
        server.signal(libc::SIGKILL);
        let pid = server.pid;
        let (ran, processes) = server.finish();
        let [process] = &processes[..] else { panic!("{ran:?}") };
        assert_eq!(ran.code, 137, "{ran:?}");
        let said = format!(
            "leakscope: process {pid} wrote nothing at its end, or runs still: this is what its last snapshot shows\n"
        );
        assert!(ran.stderr.contains(&said), "{ran:?}");
        let json = ran.json();
        assert_eq!(
            (&json["summary"]["lost"]["bytes"], &json["summary"]["forgotten"]["bytes"]),
            (&66.into(), &7000.into()),
            "{engine}: {json:#}"
        );
        assert_eq!(json["target"]["exit"]["signal"], 9);
        assert_eq!(reasons(process), [Reason::Snapshot]);
    }
}

/// Without a snapshot there is nothing to report, and nothing is claimed.
#[test]
fn a_killed_program_without_snapshots() {
    let server = Server::start(SERVER, "track", "");
    server.signal(libc::SIGKILL);
    let (ran, processes) = server.finish();
    assert!(ran.code == 137 && processes.is_empty(), "{ran:?}");
    assert!(ran.only_line().ends_with("--snapshot-every keeps what is known on the way"), "{ran:?}");
}

#[test]
fn waiting_threads_are_left_alone() {
    for engine in ["track", "preload"] {
        let server = Server::start(WAITERS, engine, "--snapshot-signal USR2");
        for number in 0..2 {
            server.signal(libc::SIGUSR2);
            server.wait_for_record(number);
        }
        let (ran, processes) = server.finish();
        let [process] = &processes[..] else { panic!("{ran:?}") };
        assert_eq!(ran.stdout, "0 of 13 returned\n", "{engine}: {ran:?}");
        assert_eq!(lost_bytes(process), [vec![66], vec![66], vec![66]], "{engine}");
        let all: u64 = (100..113).sum();
        assert_eq!(held(process, 13, all), [true, true, true], "{engine}");
    }
}

/// A program under `leakscope run` that waits for its input to end.
struct Server {
    folder: Folder,
    leakscope: Child,
    output: BufReader<ChildStdout>,
    pid: i32,
}

impl Server {
    /// Compiles it with the optimisation of `-O2`, and starts it.
    fn start(source: &str, engine: &str, options: &str) -> Server {
        let folder = Folder::with(&[("server.c", source)]);
        fs::create_dir(folder.path("records")).unwrap();
        let built = folder.run("build --quiet -- gcc -g -O2 -pthread server.c -o server");
        assert_eq!(built.code, 0, "{built:?}");
        let words = format!("run --format json --keep-records records --engine {engine} {options} server");
        let mut command = folder.leakscope(words.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut leakscope = command.spawn().unwrap();
        let mut output = BufReader::new(leakscope.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let Ok(pid) = line.trim().parse() else {
            panic!("{line:?}: {}", String::from_utf8_lossy(&leakscope.wait_with_output().unwrap().stderr));
        };
        Server { folder, leakscope, output, pid }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to the program under test.
        assert_eq!(unsafe { libc::kill(self.pid, signal) }, 0);
    }

    fn wait_for_record(&self, number: u32) {
        wait_for(&self.folder.path("records"), &format!("{}-{number}.record", self.pid));
    }

    /// Closes the program's input: what it and leakscope say then, and the
    /// records.
    fn finish(mut self) -> (Ran, Vec<Process>) {
        drop(self.leakscope.stdin.take());
        let mut stdout = String::new();
        self.output.read_to_string(&mut stdout).unwrap();
        let ran = Ran { stdout, ..Ran::from(&self.leakscope.wait_with_output().unwrap()) };
        (ran, read_folder(&self.folder.path("records")).unwrap())
    }
}

/// Waits until `folder` has a file of this name.
fn wait_for(folder: &Path, name: &str) {
    let path = CString::new(folder.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is a C string; the descriptor is ours until closed.
    unsafe {
        let watch = libc::inotify_init1(libc::IN_CLOEXEC);
        assert!(watch >= 0 && libc::inotify_add_watch(watch, path.as_ptr(), libc::IN_MOVED_TO) >= 0);
        while !folder.join(name).exists() {
            let mut event = libc::pollfd { fd: watch, events: libc::POLLIN, revents: 0 };
            assert!(libc::poll(&mut event, 1, 60_000) == 1, "no {name} after a minute");
            let mut events = [0u8; 4096];
            libc::read(watch, events.as_mut_ptr().cast(), events.len());
        }
        libc::close(watch);
    }
}

/// The sizes of the lost blocks of each record.
fn lost_bytes(process: &Process) -> Vec<Vec<u64>> {
    process.records.iter().map(|record| record.lost.iter().map(|block| block.bytes).collect()).collect()
}

/// Whether so many blocks of one place are reached, in each record.
fn held(process: &Process, blocks: u64, bytes: u64) -> Vec<bool> {
    let is_held = |record: &Record| {
        // Those of one allocation may have been last used at several places.
        let mut sums = BTreeMap::<u32, (u64, u64)>::new();
        for held in &record.reachable {
            let sum = sums.entry(held.stack).or_default();
            *sum = (sum.0 + held.blocks, sum.1 + held.bytes);
        }
        sums.values().any(|&sum| sum == (blocks, bytes))
    };
    process.records.iter().map(is_held).collect()
}

fn reasons(process: &Process) -> Vec<Reason> {
    process.records.iter().filter_map(|record| Reason::from_u32(record.header.reason)).collect()
}
