//! Real servers on loopback, started and ended by the tests that ask them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// A server that runs until it is dropped.
pub struct Server {
    process: Child,
    pub port: u16,
    /// What it works in.
    _folder: TempDir,
}

impl Server {
    /// Starts `program` with what `arguments` says for a port and a folder of its own, and waits until it listens.
    /// `None`, with a word, where there is no such program; under `CI=true` that is a failure.
    pub fn start(program: &str, arguments: impl Fn(u16, &Path) -> Vec<String>) -> Option<Server> {
        let folder = tempfile::tempdir().expect("a directory");
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()).expect("a port").port();
        let mut command = Command::new(program);
        command.args(arguments(port, folder.path())).stdout(Stdio::null()).stderr(Stdio::null());
        let process = match command.spawn() {
            Ok(process) => process,
            Err(error) => {
                assert!(std::env::var("CI").is_err(), "{program} can't be started: {error}");
                println!("skipped: {program} can't be started ({error})");
                return None;
            }
        };
        let server = Server { process, port, _folder: folder };
        for _ in 0..500 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some(server);
            }
            sleep(Duration::from_millis(20));
        }
        panic!("{program} does not listen on port {port}");
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.set_nodelay(true).expect("loopback");
        BufReader::new(stream)
    }

    /// A connection that speaks Redis' protocol.
    pub fn redis(&self) -> Redis {
        Redis(self.connect())
    }

    /// A connection that speaks HTTP.
    pub fn http(&self) -> Http {
        Http(self.connect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("it can be ended");
    }
}

/// A line without its end.
fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).expect("an answer");
    line.trim_end().to_string()
}

/// A connection to Redis.
pub struct Redis(BufReader<TcpStream>);

impl Redis {
    /// The numbers and texts of the answer to a command, flattened; a text that is absent is empty.
    pub fn ask(&mut self, words: &[&str]) -> Vec<String> {
        let mut command = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| command += &format!("${}\r\n{word}\r\n", word.len()));
        self.0.get_mut().write_all(command.as_bytes()).expect("it listens");
        let mut answer = Vec::new();
        let mut left = 1;
        while 0 < left {
            left -= 1;
            let head = line(&mut self.0);
            let (sort, rest) = head.split_at(1);
            match sort {
                ":" | "+" => answer.push(rest.to_string()),
                "$" if rest == "-1" => answer.push(String::new()),
                "$" => {
                    let mut text = vec![0; rest.parse::<usize>().expect("a length") + 2];
                    self.0.read_exact(&mut text).expect("the text");
                    answer.push(String::from_utf8(text).expect("UTF-8").trim_end().to_string());
                }
                "*" => left += rest.parse::<usize>().expect("a count"),
                _ => panic!("{head} for {words:?}"),
            }
        }
        answer
    }
}

/// A connection to a web server, kept alive.
pub struct Http(BufReader<TcpStream>);

impl Http {
    /// The status of the answer to a request for `path`.
    pub fn get(&mut self, path: &str) -> u16 {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes()).expect("it listens");
        let status = line(&mut self.0).split(' ').nth(1).expect("a status").parse().expect("a number");
        let mut length = 0;
        loop {
            let header = line(&mut self.0).to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if header.is_empty() {
                break;
            }
        }
        self.0.read_exact(&mut vec![0; length]).expect("the body");
        status
    }
}
