//! One run of one program: processor time, peak memory and what it produced.
//!
//! Time is user plus system time of the process and of the children it waited
//! for. Elapsed time says more about the machine's other work, and is only for
//! what threads gain.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// A program that takes longer is taken for one that hangs.
const LIMIT: Duration = Duration::from_secs(30 * 60);

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    pub elapsed: Duration,
    pub peak_kib: u64,
    /// 0 where they were not counted.
    pub instructions: u64,
}

impl Usage {
    /// The lower of both, each for itself.
    pub fn better_of(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu.min(other.cpu),
            elapsed: self.elapsed.min(other.elapsed),
            peak_kib: self.peak_kib.min(other.peak_kib),
            instructions: self.instructions.min(other.instructions),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub usage: Usage,
    pub status: ExitStatus,
    /// Over everything that the program wrote.
    pub digest: u64,
}

impl Outcome {
    /// The usage, if the program did what it does natively.
    pub fn agreeing_with(self, native_digest: u64) -> Result<Usage, String> {
        if !self.status.success() {
            return Err(format!("failed: {}", self.status));
        }
        if self.digest != native_digest {
            return Err("its output differs from the native program's".to_owned());
        }
        Ok(self.usage)
    }
}

/// Runs the command to its end.
pub fn run(command: &mut Command) -> io::Result<(ExitStatus, Usage)> {
    run_within(LIMIT, command)
}

/// Runs the command to its end. It, and each process that it starts, is stopped
/// when it takes longer.
pub fn run_within(limit: Duration, command: &mut Command) -> io::Result<(ExitStatus, Usage)> {
    Running::start(limit, command)?.wait()
}

/// A program that runs.
pub struct Running {
    pid: libc::pid_t,
    start: Instant,
}

impl Running {
    pub fn start(limit: Duration, command: &mut Command) -> io::Result<Running> {
        let seconds = limit.as_secs();
        // A hook makes the standard library fork. Otherwise the child shares our
        // address space until it executes, and the kernel counts our own peak
        // memory as the child's; after a fork it counts only what we hold on the
        // heap, which is little.
        // SAFETY: both calls are async-signal-safe, and what they set survives the exec that follows.
        unsafe {
            command.pre_exec(move || {
                let limit = libc::rlimit { rlim_cur: seconds, rlim_max: seconds };
                // A compiler's driver passes this on to those that do the work; the alarm is for what waits.
                libc::setrlimit(libc::RLIMIT_CPU, &limit);
                libc::alarm(seconds.max(LIMIT.as_secs()) as libc::c_uint);
                Ok(())
            });
        }
        let start = Instant::now();
        Ok(Running { pid: command.spawn()?.id() as libc::pid_t, start })
    }

    /// Resident memory now, None once the program has ended.
    pub fn resident_kib(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let resident = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        resident.trim().trim_end_matches(" kB").parse().ok()
    }

    pub fn wait(self) -> io::Result<(ExitStatus, Usage)> {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        loop {
            // SAFETY: both pointers are to live variables of the types that wait4 fills.
            if unsafe { libc::wait4(self.pid, &mut status, 0, usage.as_mut_ptr()) } == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // SAFETY: wait4 returned the child's pid, so it has filled the usage.
        let usage = unsafe { usage.assume_init() };
        let usage = Usage {
            cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
            elapsed: self.start.elapsed(),
            peak_kib: usage.ru_maxrss as u64,
            instructions: 0,
        };
        Ok((ExitStatus::from_raw(status), usage))
    }
}

/// A digest over the contents of files, in this order.
pub fn digest<'a>(files: impl IntoIterator<Item = &'a Path>) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 1 << 16];
    for path in files {
        let mut file = File::open(path)?;
        let mut length = 0;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hasher.write(&buffer[..count]);
            length += count;
        }
        hasher.write_usize(length);
    }
    Ok(hasher.finish())
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expected: impl Fn(ExitStatus, Usage) -> bool) {
        let (status, usage) = run(Command::new("sh").args(["-c", script])).unwrap();
        assert!(expected(status, usage), "{script}: {status}, {usage:?}");
    }

    #[test]
    fn a_run_is_measured() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let took = |usage: Usage| usage.cpu >= Duration::from_millis(10);
        check("exit 3", |status, usage| status.code() == Some(3) && usage.peak_kib > 0);
        check("kill -9 $$", |status, _| status.signal() == Some(9));
        check(busy, |_, usage| took(usage));
        check(&format!("sh -c '{busy}'; true"), |_, usage| took(usage));
    }

    #[test]
    fn our_own_memory_is_not_the_childs() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let ours: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        check("true", |_, usage| usage.peak_kib < ours);
    }
}
