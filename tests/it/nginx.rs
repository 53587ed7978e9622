//! nginx with `limit_req` on loopback, in real time, beside the dialect that is named after it.
//!
//! nginx's clock is a millisecond's, and a request meets it somewhere between its sending and its answer. So requests are
//! paced to stay clear of the edges by tens of milliseconds, and a run in which the machine stalled is run again.

use crate::server::Server;
use crate::support::limiter;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tidegate::limiter::Verdict;
use tidegate::request::Ask;
use tidegate::time::SimTime;

/// Ten a second, and two in excess that start at once.
const CONFIG: &str = "
    daemon off;
    master_process off;
    pid FOLDER/pid;
    error_log FOLDER/error.log crit;
    events {}
    http {
        access_log off;
        client_body_temp_path FOLDER/body;
        proxy_temp_path FOLDER/proxy;
        fastcgi_temp_path FOLDER/fastcgi;
        uwsgi_temp_path FOLDER/uwsgi;
        scgi_temp_path FOLDER/scgi;
        keepalive_requests 100000;
        limit_req_zone $arg_key zone=calls:1m rate=10r/s;
        limit_req_status 429;
        server {
            listen 127.0.0.1:PORT;
            location / {
                root FOLDER;
                limit_req zone=calls burst=2 nodelay;
            }
        }
    }
";

/// How long to wait before each request, in milliseconds. What is in excess stays 40 ms and more from the edges.
const PAUSES: [u64; 24] =
    [0, 0, 0, 0, 0, 150, 0, 250, 0, 0, 0, 60, 140, 0, 0, 550, 0, 0, 0, 0, 150, 150, 0, 0];

/// No answer may take longer than this in a run that counts.
const STALL: Duration = Duration::from_millis(15);

#[test]
fn nginx_lets_through_what_its_dialect_does() {
    let server = Server::start("nginx", |port, folder| {
        let folder = folder.display().to_string();
        let config = CONFIG.replace("FOLDER", &folder).replace("PORT", &port.to_string());
        fs::write(format!("{folder}/nginx.conf"), config).expect("written");
        fs::write(format!("{folder}/answer"), "well").expect("written");
        vec!["-p".into(), folder.clone(), "-c".into(), format!("{folder}/nginx.conf")]
    });
    let Some(server) = server else { return };
    for run in 0..20 {
        if let Some((theirs, ours)) = one_run(&server, run) {
            assert_eq!(theirs, ours, "run {run}");
            let refused = theirs.iter().filter(|passed| !**passed).count();
            assert!((5..PAUSES.len() - 5).contains(&refused), "{refused} of {} refused", PAUSES.len());
            return;
        }
    }
    panic!("the machine stalled in each of 20 runs");
}

/// What nginx and the dialect let through; `None` if the machine stalled.
#[allow(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn one_run(server: &Server, run: u32) -> Option<(Vec<bool>, Vec<bool>)> {
    let mut limit =
        limiter("kind = 'leaky_meter'\ndialect = 'nginx'\nrate = '10/s'\nburst = 2\nnodelay = true");
    let mut http = server.http();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for pause in PAUSES {
        sleep(Duration::from_millis(pause));
        let sent = began.elapsed();
        let status = http.get(&format!("/answer?key=run{run}"));
        if STALL < began.elapsed() - sent {
            return None;
        }
        theirs.push(match status {
            200 => true,
            429 => false,
            other => panic!("status {other}"),
        });
        let (now, ask) = (SimTime(sent.as_nanos() as u64), Ask::default());
        let verdict = limit.check(now, &ask);
        match verdict {
            Verdict::Pass | Verdict::Delay(_) => limit.take(now, &ask),
            Verdict::At(_) | Verdict::Never => limit.refuse(now, &ask),
        }
        ours.push(verdict.passes());
    }
    Some((theirs, ours))
}
