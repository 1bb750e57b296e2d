//! `DateTimeFormat`: a moment in a format of the kind .NET has, numeric fields only.

use super::calendar::Fields;

/// Formats `fields` according to `format`: `yyyy MM dd HH mm ss` are padded with zeros, `M d H m s`
/// are not, `f` is a digit of the fraction, `F` likewise unless only zeros follow, `\` escapes a
/// character. Everything else is literal.
pub(super) fn format(fields: &Fields, format: &str) -> String {
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        // No specifier is longer than the seven digits of a fraction.
        let run = rest.chars().take(7).take_while(|c| *c == first).count();
        let taken = match first {
            '\\' => {
                rest = &rest[1..];
                let escaped = rest.chars().next();
                out.extend(escaped);
                escaped.map_or(0, char::len_utf8)
            }
            'y' if run >= 4 => write(&mut out, fields.year, 4),
            'M' => write(&mut out, fields.month, run.min(2)),
            'd' => write(&mut out, fields.day, run.min(2)),
            'H' => write(&mut out, fields.hour, run.min(2)),
            'm' => write(&mut out, fields.minute, run.min(2)),
            's' => write(&mut out, fields.second, run.min(2)),
            'f' | 'F' => {
                let digits = format!("{:07}", fields.ticks);
                let digits = &digits[..run.min(7)];
                let kept = if first == 'F' { digits.trim_end_matches('0') } else { digits };
                out.push_str(kept);
                digits.len()
            }
            _ => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// Writes a field with at least `width` digits, which is also the length of its specifier.
fn write(out: &mut String, field: i64, width: usize) -> usize {
    let digits = format!("{field:0width$}");
    out.push_str(&digits);
    width
}
