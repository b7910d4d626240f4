//! What arguments may be: times, shares, sizes, modes and signals.

use std::time::Duration;

use super::run::Mode;

pub fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a number of seconds above 0, found {text:?}");
    let seconds: f64 = text.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_millis() > 0).ok_or_else(expected)
}

/// A share, as in 0.1% or 0.001, as one in so many.
pub fn one_in(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a share above 0 and up to 100%, as in 0.1%, found {text:?}");
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share: f64 = number.trim().parse().map_err(|_| expected())?;
    let one_in = (whole / share).round();
    let is_share = share > 0.0 && share <= whole && one_in <= 1_000_000.0;
    if is_share { Ok(one_in as u32) } else { Err(expected()) }
}

pub fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "minimal" => Ok(Mode::Minimal),
        "full" => Ok(Mode::Full),
        _ => text.strip_prefix("partial=").and_then(size).map(Mode::Partial).ok_or_else(|| {
            format!(
                "expected minimal, full or partial=SIZE with a SIZE as in 4096, 64K or 1M, found {text:?}"
            )
        }),
    }
}

/// A number of bytes, with a unit or without.
pub fn size(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = match text[number.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    Some(u64::from(number.parse::<u32>().ok()?) * unit)
}

pub fn only(text: &str) -> Result<String, String> {
    match text.strip_prefix("alloc=") {
        Some(pattern) if !pattern.is_empty() => Ok(pattern.to_owned()),
        _ => Err(format!("expected alloc=FUNCTION or alloc=FILE:LINE, found {text:?}")),
    }
}

pub fn leak_limit(text: &str) -> Result<u64, String> {
    size(text)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("expected a size above 0 as in 4096, 64K or 1M, found {text:?}"))
}

pub fn signal(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
        ("ALRM", libc::SIGALRM),
        ("TERM", libc::SIGTERM),
        ("WINCH", libc::SIGWINCH),
        ("IO", libc::SIGIO),
        ("PWR", libc::SIGPWR),
    ];
    let named = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, number)| number);
    let usable = |number: &i32| (1..=64).contains(number) && ![libc::SIGKILL, libc::SIGSTOP].contains(number);
    named
        .or_else(|| text.parse().ok().filter(usable))
        .ok_or_else(|| format!("expected a signal as in USR2 or 12, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        for (text, expected) in [
            ("minimal", Mode::Minimal),
            ("full", Mode::Full),
            ("partial=0", Mode::Partial(0)),
            ("partial=4096", Mode::Partial(4096)),
            ("partial=64K", Mode::Partial(64 << 10)),
            ("partial=2m", Mode::Partial(2 << 20)),
            ("partial=4294967295G", Mode::Partial(4_294_967_295 << 30)),
        ] {
            assert_eq!(mode(text), Ok(expected));
        }
        for text in
            ["", "most", "partial", "partial=", "partial=K", "partial=-1", "partial=1KB", "partial=1.5M"]
        {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares() {
        for (text, expected) in
            [("0.1%", 1000), ("100%", 1), ("10%", 10), ("0.01", 100), ("0.0001%", 1_000_000)]
        {
            assert_eq!(one_in(text), Ok(expected), "{text}");
        }
        for text in ["", "%", "0", "0%", "-1%", "101%", "2", "0.00001%", "x%", "nan"] {
            assert!(one_in(text).is_err(), "{text}");
        }
    }

    #[test]
    fn signals_by_name_and_number() {
        for (text, expected) in
            [("USR2", Some(12)), ("SIGUSR2", Some(12)), ("usr2", Some(12)), ("12", Some(12))]
        {
            assert_eq!(signal(text).ok(), expected);
        }
        for text in ["KILL", "9", "0", "65", "USR3", ""] {
            assert!(signal(text).is_err(), "{text}");
        }
    }
}
