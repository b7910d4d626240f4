//! An interrupt from the keyboard goes to the whole process group: the build
//! ends by it, and this process must outlive the build to leave things tidy.

/// Runs `wait` with SIGINT and SIGQUIT caught and passed over. They are
/// caught, not ignored: a child starts with the default action again.
pub fn while_left_to_children<T>(wait: impl FnOnce() -> T) -> T {
    extern "C" fn pass_over(_: libc::c_int) {}
    let signals = [libc::SIGINT, libc::SIGQUIT];
    let handler = pass_over as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing, which is safe at any moment.
    let before = signals.map(|signal| unsafe { libc::signal(signal, handler) });
    let result = wait();
    for (signal, before) in signals.into_iter().zip(before) {
        // SAFETY: gives back the action that was there.
        unsafe { libc::signal(signal, before) };
    }
    result
}
