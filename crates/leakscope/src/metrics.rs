//! A small server for Prometheus: one text, at any path.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The text that is served; others may change it.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<String>>);

impl Page {
    pub fn set(&self, text: String) {
        *self.0.lock().expect("nobody panics while holding it") = text;
    }
}

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    ThisMachine,
    Anybody,
}

/// Serves `page` at `address` from now on. Returns where, with the port that
/// the system chose for port 0.
pub fn serve(address: SocketAddr, audience: Audience, page: &Page) -> Result<SocketAddr> {
    if audience == Audience::ThisMachine && !address.ip().is_loopback() {
        bail!("{address} can be reached from other machines: use 127.0.0.1, or say --metrics-anybody");
    }
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    let found = listener.local_addr()?;
    let page = page.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One that does not speak must not keep the others waiting.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let _ = stream.set_write_timeout(Some(Duration::from_secs(2)));
            let _ = answer(stream, &page);
        }
    });
    Ok(found)
}

fn answer(mut stream: TcpStream, page: &Page) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let text = page.0.lock().expect("nobody panics while holding it").clone();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}
