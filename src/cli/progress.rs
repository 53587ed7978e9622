//! A bar on stderr for work that takes longer than half a second.

use super::screen::Screen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long work may take before it is worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of a number of jobs. It is seen by people alone: nothing that is computed knows of it.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: Mutex<bool>,
}

impl Progress {
    /// The progress of so many steps, hidden at first.
    #[allow(clippy::disallowed_methods)] // a clock for the eye
    pub fn new(screen: &Screen, steps: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}");
        bar.set_style(style.expect("the template is right"));
        Progress { bar, begun: Instant::now(), shown: Mutex::new(!screen.shows_progress()) }
    }

    /// So many steps more are done.
    pub fn add(&self, steps: u64) {
        self.bar.inc(steps);
        if let Ok(mut shown) = self.shown.lock()
            && !*shown
            && PATIENCE <= self.begun.elapsed()
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            *shown = true;
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
