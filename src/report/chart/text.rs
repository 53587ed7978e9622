//! Text that fits: how wide it is, where it is cut or wrapped, and what is taken out of it.
//!
//! Nobody knows which font a viewer will take, so widths are estimates on the wide side, in ems.

/// The most characters that any label from a file may have.
pub const LONGEST: usize = 160;

/// Bytes of a file as text that can be shown.
pub fn shown(bytes: &[u8]) -> String {
    tame(&String::from_utf8_lossy(bytes), LONGEST)
}

/// The text without control characters, at most `longest` characters, cut with `…`.
pub fn tame(text: &str, longest: usize) -> String {
    let mut shown: String =
        text.chars().take(longest + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    // What XML can't hold even when escaped.
    shown.retain(|c| !matches!(c, '\u{fffe}' | '\u{ffff}'));
    if shown.chars().count() > longest {
        shown = shown.chars().take(longest - 1).collect();
        shown.push('…');
    }
    shown.trim().to_string()
}

/// The estimated width of the text at a font size, in the size's own unit.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(ems).sum::<f64>() * size
}

/// The width of one character, measured on common sans serif fonts and rounded up.
fn ems(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '·' => 0.30,
        ' ' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '/' | '-' => 0.39,
        'a' | 'c' | 'e' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 0.56,
        'm' | 'w' => 0.90,
        'M' | 'W' | '@' | '%' | '→' | '…' => 0.95,
        'A'..='Z' | '_' | '–' | '×' => 0.70,
        c if c.is_ascii() => 0.59,
        c if (c as u32) < 0x0600 => 0.65,
        _ => 1.05,
    }
}

/// The text cut with `…` so that it is at most `room` wide; empty when not even three characters fit. The end stays,
/// by which long names differ most often.
pub fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut left = room - ems('…') * size;
    let mut take = |c: &char, share: f64| {
        left -= ems(*c) * size;
        share <= left
    };
    let head: String = text.chars().take_while(|c| take(c, room * 0.3)).collect();
    let tail: Vec<char> = text.chars().rev().take_while(|c| take(c, 0.0)).collect();
    let tail: String = tail.into_iter().rev().collect();
    let (head, tail) = (head.trim_end(), tail.trim_start());
    if head.chars().count() + tail.chars().count() < 3 { String::new() } else { format!("{head}…{tail}") }
}

/// The text broken at spaces into as few lines at most `room` wide as possible, about equally long; `None` if a word
/// or the number of lines does not fit.
pub fn wrap(text: &str, size: f64, room: f64, lines_max: usize) -> Option<Vec<String>> {
    let lines = broken(text, size, room, lines_max)?;
    // The narrowest room that needs no further line balances them.
    (5..10)
        .find_map(|tenths| broken(text, size, room * f64::from(tenths) / 10.0, lines.len()))
        .or(Some(lines))
}

/// The text broken at the last spaces that fit.
fn broken(text: &str, size: f64, room: f64, lines_max: usize) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in &words(text) {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer {
            Some(longer) if width(&longer, size) <= room => *lines.last_mut()? = longer,
            _ if width(word, size) <= room && lines.len() < lines_max => lines.push(word.clone()),
            _ => return None,
        }
    }
    Some(lines)
}

/// The words of a text; a number stays with a short unit after it, as `8 s` does.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && word.chars().count() <= 3 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tame_text_is_short_and_has_no_control_characters() {
        assert_eq!(tame("a\u{0}b\nc", 10), "a b c");
        assert_eq!(tame("abcdefgh", 5), "abcd…");
        assert_eq!(tame("abcde", 5), "abcde");
    }

    #[test]
    fn what_fits_is_whole_and_what_does_not_is_cut() {
        assert_eq!(fit("limit 32", 10.0, 100.0), "limit 32");
        let cut = fit("a rather long label", 10.0, 60.0);
        assert!(cut.contains('…') && cut.ends_with('l') && width(&cut, 10.0) <= 60.0, "{cut}");
        assert_eq!(fit("a rather long label", 10.0, 12.0), "");
    }

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        let lines = wrap("downstream 500 ms → 8 s", 10.0, 80.0, 3).unwrap();
        assert_eq!(lines.concat().replace(' ', ""), "downstream500ms→8s");
        assert!(lines.iter().all(|line| width(line, 10.0) <= 80.0));
        assert!(lines.last().unwrap().ends_with("8 s"), "{lines:?}");
        assert_eq!(wrap("downstream", 10.0, 20.0, 3), None);
    }
}
