//! Programs as text, and back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
};

use proofline_hir::{
    Linkage, Name, Record, Records,
    types::{BitField, Field},
};
use proofline_syntax::DataModel;

use super::{
    Parser, Printer, Surroundings,
    expr::float_text,
    lex::{self, ParseError, TokenKind},
    types::record_text,
};
use crate::{
    function::Function,
    program::{Constant, Global, InitialValue, Program},
};

fn model_text(model: DataModel) -> &'static str {
    match model {
        DataModel::Lp64 => "lp64",
        DataModel::Ilp32 => "ilp32",
    }
}

pub(super) fn print(program: &Program) -> String {
    let surroundings = Surroundings::of(program);
    let mut printer = Printer::new(surroundings, &[]);
    let _ = writeln!(printer.out, "model {}", model_text(program.data_model));
    for record in program.records.values() {
        printer.record(record);
    }
    for global in program.globals.values() {
        printer.global(global);
    }
    for (name, ty) in &program.externals {
        printer.text("external ");
        printer.name(*name);
        printer.text(": ");
        printer.ty(*ty);
        printer.text("\n");
    }
    for name in &program.shared {
        printer.text("shared ");
        printer.name(*name);
        printer.text("\n");
    }
    for (what, place) in &program.unsupported {
        printer.text("unsupported ");
        printer.name(*what);
        printer.text(" ");
        printer.name(*place);
        printer.text("\n");
    }
    let mut out = printer.out;
    for function in program.functions.values() {
        out.push('\n');
        out.push_str(&super::print_function(function, surroundings));
    }
    out
}

impl Printer<'_> {
    fn record(&mut self, record: &Record) {
        let kind = if record.is_union { "union" } else { "struct" };
        let tag = record_text(record.tag);
        let _ = writeln!(self.out, "record {tag}: {kind} size {} align {} {{", record.size, record.align);
        for Field { name, ty, offset, bits } in &record.fields {
            self.text("  ");
            self.name(*name);
            self.text(": ");
            self.ty(*ty);
            let _ = write!(self.out, " at {offset}");
            if let Some(BitField { first, width }) = bits {
                let _ = write!(self.out, " bits {first} {width}");
            }
            self.text("\n");
        }
        self.text("}\n");
    }

    fn global(&mut self, global: &Global) {
        self.text("global ");
        self.name(global.name);
        self.text(": ");
        self.ty(global.ty);
        if global.size != self.surroundings.size(global.ty) {
            let _ = write!(self.out, " size {}", global.size);
        }
        match global.linkage {
            Linkage::External => {}
            Linkage::Internal => self.text(" static"),
        }
        if !global.defined {
            self.text(" extern");
        }
        if global.constant {
            self.text(" constant");
        }
        for (at, name) in global.hidden.iter().enumerate() {
            self.text(if at == 0 { " hides " } else { ", " });
            self.name(*name);
        }
        if !global.init.is_empty() {
            self.text(" = {");
            for InitialValue { offset, scalar, bits, value } in &global.init {
                let _ = write!(self.out, "\n  {offset} {scalar}");
                if let Some(BitField { first, width }) = bits {
                    let _ = write!(self.out, " bits {first} {width}");
                }
                self.text(": ");
                match value {
                    Constant::Int(value) => {
                        let _ = write!(self.out, "{value}");
                    }
                    Constant::Float(value) => self.text(&float_text(*value)),
                    Constant::Address(name, offset) => {
                        self.text("&");
                        self.name(*name);
                        if *offset != 0 {
                            let _ = write!(self.out, " + {offset}");
                        }
                    }
                    Constant::Function(name) => {
                        self.text("fn ");
                        self.name(*name);
                    }
                    Constant::Unknown => self.text("?"),
                }
            }
            self.text("\n}");
        }
        self.text("\n");
    }
}

/// What has been read so far.
struct Parts {
    data_model: DataModel,
    records: Records,
    globals: BTreeMap<Name, Arc<Global>>,
    functions: BTreeMap<Name, Arc<Function>>,
    externals: BTreeMap<Name, proofline_hir::Type>,
    shared: BTreeSet<Name>,
    unsupported: Vec<(Name, Name)>,
}

pub(super) fn parse(text: &str) -> Result<Program, ParseError> {
    let mut tokens = lex::tokens(text)?;
    let mut at = 0;
    let mut parts = Parts {
        data_model: DataModel::Lp64,
        records: Records::new(),
        globals: BTreeMap::new(),
        functions: BTreeMap::new(),
        externals: BTreeMap::new(),
        shared: BTreeSet::new(),
        unsupported: Vec::new(),
    };
    loop {
        // What has been read is the surroundings of what comes.
        let surroundings =
            Surroundings { data_model: parts.data_model, records: &parts.records, globals: &parts.globals };
        let mut parser = Parser::new(tokens, surroundings);
        parser.at = at;
        if *parser.peek() == TokenKind::End {
            break;
        }
        let part = parser.part()?;
        (tokens, at) = (parser.tokens, parser.at);
        match part {
            Part::Model(model) => parts.data_model = model,
            Part::Record(record) => {
                parts.records.insert(record.tag, Arc::new(record));
            }
            Part::Global(global) => {
                parts.globals.insert(global.name, Arc::new(global));
            }
            Part::Function(function) => {
                parts.functions.insert(function.name, Arc::new(*function));
            }
            Part::External(name, ty) => {
                parts.externals.insert(name, ty);
            }
            Part::Shared(name) => {
                parts.shared.insert(name);
            }
            Part::Unsupported(what, place) => parts.unsupported.push((what, place)),
        }
    }
    let Parts { data_model, records, globals, functions, externals, shared, unsupported } = parts;
    Ok(Program { data_model, records, globals, functions, externals, shared, unsupported })
}

enum Part {
    Model(DataModel),
    Record(Record),
    Global(Global),
    Function(Box<Function>),
    External(Name, proofline_hir::Type),
    Shared(Name),
    Unsupported(Name, Name),
}

impl Parser<'_> {
    fn part(&mut self) -> Result<Part, ParseError> {
        if self.peek_word("fn") {
            return Ok(Part::Function(Box::new(self.function()?)));
        }
        if self.word("record") {
            return Ok(Part::Record(self.record()?));
        }
        if self.word("global") {
            return Ok(Part::Global(self.global()?));
        }
        if self.word("external") {
            let name = self.name()?;
            self.expect(":")?;
            return Ok(Part::External(name, self.ty()?));
        }
        if self.word("shared") {
            return Ok(Part::Shared(self.name()?));
        }
        if self.word("unsupported") {
            let what = self.name()?;
            return Ok(Part::Unsupported(what, self.name()?));
        }
        if self.word("model") {
            for model in [DataModel::Lp64, DataModel::Ilp32] {
                if self.word(model_text(model)) {
                    return Ok(Part::Model(model));
                }
            }
            return self.fail("`lp64` or `ilp32`");
        }
        self.fail("a part of a program (`record`, `global`, `external`, `fn`, …)")
    }

    fn bits(&mut self) -> Result<Option<BitField>, ParseError> {
        if !self.word("bits") {
            return Ok(None);
        }
        Ok(Some(BitField { first: self.number("a bit")?, width: self.number("a width")? }))
    }

    fn record(&mut self) -> Result<Record, ParseError> {
        let tag = self.record_tag()?;
        self.expect(":")?;
        let is_union = self.word("union");
        if !is_union {
            self.expect_word("struct")?;
        }
        self.expect_word("size")?;
        let size = self.number("bytes")?;
        self.expect_word("align")?;
        let align = self.number("bytes")?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.punct("}") {
            let name = self.name()?;
            self.expect(":")?;
            let ty = self.ty()?;
            self.expect_word("at")?;
            let offset = self.number("an offset")?;
            fields.push(Field { name, ty, offset, bits: self.bits()? });
        }
        Ok(Record { tag, is_union, fields, size, align })
    }

    fn global(&mut self) -> Result<Global, ParseError> {
        let name = self.name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let size = if self.word("size") { self.number("bytes")? } else { self.surroundings.size(ty) };
        let linkage = if self.word("static") { Linkage::Internal } else { Linkage::External };
        let defined = !self.word("extern");
        let constant = self.word("constant");
        let mut hidden = Vec::new();
        if self.word("hides") {
            hidden.push(self.name()?);
            while self.punct(",") {
                hidden.push(self.name()?);
            }
        }
        let mut init = Vec::new();
        if self.punct("=") {
            self.expect("{")?;
            while !self.punct("}") {
                let offset = self.number("an offset")?;
                let scalar = self.scalar()?;
                let bits = self.bits()?;
                self.expect(":")?;
                init.push(InitialValue { offset, scalar, bits, value: self.initial(scalar)? });
            }
        }
        Ok(Global { name, ty, size, linkage, defined, constant, init, hidden })
    }

    fn initial(&mut self, scalar: crate::Scalar) -> Result<Constant, ParseError> {
        if self.punct("?") {
            return Ok(Constant::Unknown);
        }
        if self.word("fn") {
            return Ok(Constant::Function(self.name()?));
        }
        if self.punct("&") {
            let name = self.name()?;
            let offset = if self.punct("+") {
                let negative = self.punct("-");
                let magnitude: u64 = self.number("an offset")?;
                let magnitude = magnitude as i64;
                if negative { magnitude.wrapping_neg() } else { magnitude }
            } else {
                0
            };
            return Ok(Constant::Address(name, offset));
        }
        let negative = self.punct("-");
        if matches!(self.peek(), TokenKind::Int(..)) {
            let magnitude: u128 = self.number("an integer")?;
            let value = magnitude as i128;
            return Ok(Constant::Int(if negative { value.wrapping_neg() } else { value }));
        }
        let digits = self.float(negative)?;
        let crate::Scalar::Float(format) = scalar else { return self.fail("an integer or an address") };
        self.float_in(digits, format).map(Constant::Float)
    }
}
