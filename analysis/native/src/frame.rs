//! Frames in the words that machine code keeps them in: function, location, calling edge; which locals have a value; their values.

use proofline_cfa::{EdgeId, IntType, Loc, LocalId, Scalar};

use crate::{
    layout::{FunctionIndex, HEADER, Layout, Local},
    machine::Frame,
};

/// Words of the header.
pub(crate) const FUNCTION: usize = 0;
pub(crate) const AT: usize = 1;
pub(crate) const CALL: usize = 2;

/// Writes a frame to the first words. `None` if it is none that the code expects at its location.
pub(crate) fn write(layout: &Layout, frame: &Frame, words: &mut [u64]) -> Option<()> {
    words[..layout.words()].fill(0);
    words[FUNCTION] = u64::from(frame.function);
    words[AT] = u64::from(frame.at.0);
    for id in layout.kept() {
        match *frame.locals.get(id.index())? {
            Some(value) if layout.may(frame.at, id) => {
                words[layout.slot(id)] = value as u64;
                words[HEADER + id.index() / 64] |= 1 << (id.index() % 64);
                if number(layout.locals[id.index()], value as u64) != Some(value) {
                    return None;
                }
            }
            Some(_) => return None,
            None if layout.must(frame.at, id) => return None,
            None => {}
        }
    }
    Some(())
}

/// The frames up to the one that begins with that word.
pub(crate) fn read<'l>(
    layout: &dyn Fn(FunctionIndex) -> Option<&'l Layout>,
    words: &[u64],
    top: usize,
) -> Option<Vec<Frame>> {
    let (mut frames, mut start): (Vec<Frame>, usize) = (Vec::new(), 0);
    while start <= top {
        let function = *words.get(start + FUNCTION)? as FunctionIndex;
        let layout = layout(function)?;
        let frame = words.get(start..start + layout.words())?;
        let value = |at: usize| {
            let id = LocalId(at as u32);
            let has_value = frame[HEADER + at / 64] >> (at % 64) & 1 == 1;
            has_value.then(|| number(layout.locals[at], frame[layout.slot(id)])).flatten()
        };
        frames.push(Frame {
            function,
            call: (start > 0).then_some(EdgeId(frame[CALL] as u32)),
            at: Loc(frame[AT] as u32),
            locals: (0..layout.locals.len()).map(value).collect(),
        });
        start += layout.words();
    }
    Some(frames)
}

/// The number that a word holds.
fn number(local: Local, word: u64) -> Option<i128> {
    match local {
        Local::Register(Scalar::Int(IntType { signed: true, .. })) => Some(i128::from(word as i64)),
        Local::Register(Scalar::Int(_) | Scalar::Pointer) | Local::Memory(_) => Some(i128::from(word)),
        Local::Register(Scalar::Float(_)) | Local::Opaque => None,
    }
}
