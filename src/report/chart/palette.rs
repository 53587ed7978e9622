//! Colours bound to meaning: the same outcome has the same colour on every chart.

use plotters::style::RGBColor;

/// A colour without transparency.
pub type Colour = RGBColor;

/// Text, axes and the offered line.
pub const INK: Colour = RGBColor(0x1F, 0x23, 0x28);
/// Secondary text.
pub const MUTED: Colour = RGBColor(0x57, 0x60, 0x6A);
/// Grid lines.
pub const GRID: Colour = RGBColor(0xDF, 0xE2, 0xE6);
/// Under a dotted line, so that its dots are seen on dark areas.
pub const HALO: Colour = RGBColor(0xE4, 0xE8, 0xF2);
/// The page.
pub const PAPER: Colour = RGBColor(0xFF, 0xFF, 0xFF);
/// The band of a scheduled event, drawn at half strength so that overlaps show.
pub const EVENT: Colour = RGBColor(0xFA, 0xE8, 0xAC);
/// The edge of such a band.
pub const EVENT_EDGE: Colour = RGBColor(0xE3, 0xC8, 0x6A);
/// The label of such a band.
pub const EVENT_TEXT: Colour = RGBColor(0x6B, 0x55, 0x10);
/// The band of a phase that is not counted, warmup or drain; drawn at half strength too.
pub const PHASE: Colour = RGBColor(0xDC, 0xE0, 0xE4);
/// The edge of such a band.
pub const PHASE_EDGE: Colour = RGBColor(0xC4, 0xC9, 0xCF);

/// Answered well, and what is in flight.
pub const GOODPUT: Colour = RGBColor(0x1F, 0x4F, 0xD8);
/// Waiting.
pub const QUEUED: Colour = RGBColor(0x2B, 0x9A, 0xEE);
/// Answered otherwise than asked.
pub const DEGRADED: Colour = RGBColor(0x0F, 0x76, 0x6E);
/// Finished for nobody.
pub const WASTED: Colour = RGBColor(0x9A, 0xA0, 0xA6);
/// Ended by a failure of the downstream.
pub const FAILED: Colour = RGBColor(0x26, 0x26, 0x26);
/// Stopped because the caller had left.
pub const CANCELLED: Colour = RGBColor(0x62, 0x6B, 0x75);
/// Left by the caller before it started.
pub const TIMED_OUT: Colour = RGBColor(0x6B, 0x0F, 0x6E);
/// Turned away, whatever the reason.
pub const REJECTED: Colour = RGBColor(0x9A, 0x34, 0x12);
/// Turned away, one lightness per reason; neighbours in the stack differ clearly.
pub const REJECTED_BY_REASON: [Colour; 8] = [
    REJECTED,
    RGBColor(0xC9, 0x5A, 0x2C),
    RGBColor(0x84, 0x2A, 0x0C),
    RGBColor(0xDD, 0x7E, 0x50),
    RGBColor(0xB0, 0x47, 0x1D),
    RGBColor(0xEC, 0xA4, 0x7E),
    RGBColor(0x6A, 0x20, 0x08),
    RGBColor(0xF3, 0xC4, 0xA8),
];
/// Answers of one class each, from the class with the most traffic on.
pub const CLASSES: [Colour; 4] =
    [GOODPUT, RGBColor(0x0A, 0x1F, 0x66), RGBColor(0x6F, 0x95, 0xF2), RGBColor(0x3B, 0x5B, 0xA9)];
