//! A small server for Prometheus: one text, at any path.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    ThisMachine,
    Anybody,
}

/// Serves what `page` returns at `address` from now on. Returns where, with the
/// port that the system chose for port 0.
pub fn serve(
    address: SocketAddr,
    audience: Audience,
    mut page: impl FnMut() -> String + Send + 'static,
) -> Result<SocketAddr> {
    if audience == Audience::ThisMachine && !address.ip().is_loopback() {
        bail!("{address} can be reached from other machines: use 127.0.0.1, or say --metrics-anybody");
    }
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    let found = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One that does not speak must not keep the others waiting.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let _ = stream.set_write_timeout(Some(Duration::from_secs(2)));
            let _ = answer(stream, &mut page);
        }
    });
    Ok(found)
}

fn answer(mut stream: TcpStream, page: &mut impl FnMut() -> String) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let text = page();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}
