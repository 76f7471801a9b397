//! Between the protocol's positions, in the negotiated encoding, and ours, in bytes. Positions outside the text are moved into it.

use proofline_ide::{Point, Range};
use ropey::Rope;
use tower_lsp_server::ls_types as lsp;

/// The unit of the protocol's columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The first of the client's that is cheap for us, else the default of the protocol.
    pub(super) fn negotiate(capabilities: &lsp::ClientCapabilities) -> Encoding {
        let general = capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
        let has = |kind: &lsp::PositionEncodingKind| offered.contains(kind);
        if has(&lsp::PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if has(&lsp::PositionEncodingKind::UTF16) || !has(&lsp::PositionEncodingKind::UTF32) {
            Encoding::Utf16
        } else {
            Encoding::Utf32
        }
    }

    pub(super) fn kind(self) -> lsp::PositionEncodingKind {
        match self {
            Encoding::Utf8 => lsp::PositionEncodingKind::UTF8,
            Encoding::Utf16 => lsp::PositionEncodingKind::UTF16,
            Encoding::Utf32 => lsp::PositionEncodingKind::UTF32,
        }
    }

    /// From the protocol.
    pub(super) fn point(self, text: &Rope, position: lsp::Position) -> Point {
        let last = text.len_lines().saturating_sub(1);
        let number = position.line as usize;
        if number > last {
            let column = text.len_bytes() - text.line_to_byte(last);
            return Point { line: last as u32, column: column as u32 };
        }
        let line = text.line(number);
        let chars = line_chars(&line);
        let wanted = position.character as usize;
        let column = match self {
            Encoding::Utf8 => {
                let end = line.char_to_byte(chars);
                let byte = wanted.min(end);
                // Inside a character is before it.
                line.char_to_byte(line.byte_to_char(byte))
            }
            Encoding::Utf16 => {
                let end = line.char_to_utf16_cu(chars);
                line.char_to_byte(line.utf16_cu_to_char(wanted.min(end)))
            }
            Encoding::Utf32 => line.char_to_byte(wanted.min(chars)),
        };
        Point { line: position.line, column: column as u32 }
    }

    /// To the protocol.
    pub(super) fn position(self, text: &Rope, point: Point) -> lsp::Position {
        let last = text.len_lines().saturating_sub(1);
        let number = (point.line as usize).min(last);
        let line = text.line(number);
        let chars = line_chars(&line);
        let end = line.char_to_byte(chars);
        let byte = if point.line as usize > last { end } else { (point.column as usize).min(end) };
        let char = line.byte_to_char(byte);
        let character = match self {
            Encoding::Utf8 => line.char_to_byte(char),
            Encoding::Utf16 => line.char_to_utf16_cu(char),
            Encoding::Utf32 => char,
        };
        lsp::Position { line: number as u32, character: character as u32 }
    }

    /// From the protocol.
    pub(super) fn range_of(self, text: &Rope, range: lsp::Range) -> Range {
        Range { start: self.point(text, range.start), end: self.point(text, range.end) }
    }

    /// To the protocol.
    pub(super) fn range(self, text: &Rope, range: Range) -> lsp::Range {
        lsp::Range { start: self.position(text, range.start), end: self.position(text, range.end) }
    }
}

/// Characters of a line without its end.
fn line_chars(line: &ropey::RopeSlice<'_>) -> usize {
    let mut chars = line.len_chars();
    for end in ['\n', '\r'] {
        if chars > 0 && line.char(chars - 1) == end {
            chars -= 1;
        }
    }
    chars
}

/// Offset of a point in the text.
pub(super) fn byte_of(text: &Rope, point: Point) -> usize {
    let last = text.len_lines().saturating_sub(1);
    if point.line as usize > last {
        return text.len_bytes();
    }
    let start = text.line_to_byte(point.line as usize);
    (start + point.column as usize).min(text.len_bytes())
}
