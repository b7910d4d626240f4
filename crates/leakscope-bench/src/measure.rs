//! One run of one program: processor time, peak memory and what it produced.
//!
//! Time is user plus system time of the process and of the children it waited
//! for. Elapsed time is not measured: it says more about the machine's other
//! work.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// A program that takes longer is taken for one that hangs.
const LIMIT_SECONDS: u32 = 30 * 60;

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    pub peak_kib: u64,
}

impl Usage {
    pub fn cpu_ratio(&self, native: &Usage) -> f64 {
        self.cpu.as_secs_f64() / native.cpu.as_secs_f64()
    }

    pub fn peak_ratio(&self, native: &Usage) -> f64 {
        self.peak_kib as f64 / native.peak_kib as f64
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
    // A hook makes the standard library fork. Otherwise the child shares our
    // address space until it executes, and the kernel counts our own peak
    // memory as the child's; after a fork it counts only what we hold on the
    // heap, which is little.
    // SAFETY: `alarm` is async-signal-safe, and survives the exec that follows.
    unsafe {
        command.pre_exec(|| {
            libc::alarm(LIMIT_SECONDS);
            Ok(())
        });
    }
    let pid = command.spawn()?.id() as libc::pid_t;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    loop {
        // SAFETY: both pointers are to live variables of the types that wait4 fills.
        if unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: wait4 returned the child's pid, so it has filled the usage.
    let usage = unsafe { usage.assume_init() };
    let cpu = duration(usage.ru_utime) + duration(usage.ru_stime);
    Ok((ExitStatus::from_raw(status), Usage { cpu, peak_kib: usage.ru_maxrss as u64 }))
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
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let ours: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        check("true", |_, usage| usage.peak_kib < ours);
    }
}
