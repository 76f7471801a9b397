//! Automata as text, and back. Must not know programs.

use std::fmt::Write;

use proofline_hir::{FunctionAttributes, Linkage, Name, Type, TypeKind};

use super::{Parser, Printer, lex::ParseError};
use crate::{
    expr::LocalId,
    function::{Approximation, CheckId, Edge, Function, Loc, Local, Obligation, Operands, Role},
    library_result::{LibraryResult, Quantity},
};

const ROLES: [(&str, Role); 6] = [
    ("result", Role::Result),
    ("parameter", Role::Parameter),
    ("variable", Role::Variable),
    ("variable_array", Role::VariableArray),
    ("temporary", Role::Temporary),
    ("shadow", Role::Shadow),
];

fn role_text(role: Role) -> &'static str {
    ROLES.iter().find(|(_, r)| *r == role).map_or("variable", |(text, _)| text)
}

fn signature_is_variadic(ty: Type) -> bool {
    if let TypeKind::Function(signature) = ty.kind() { signature.variadic } else { false }
}

fn parameters_by_role(locals: &[Local]) -> Vec<LocalId> {
    let ids = (0..locals.len() as u32).map(LocalId);
    ids.zip(locals).filter(|(_, local)| local.role == Role::Parameter).map(|(id, _)| id).collect()
}

fn result_by_role(locals: &[Local]) -> Option<LocalId> {
    locals.iter().position(|local| local.role == Role::Result).map(|index| LocalId(index as u32))
}

/// The attributes with the words that say them.
fn attribute_words(attributes: &mut FunctionAttributes) -> [(&'static str, &mut bool); 6] {
    let FunctionAttributes { noreturn, inline, pure, malloc, runs_outside_main, weak } = attributes;
    [
        ("noreturn", noreturn),
        ("inline", inline),
        ("pure", pure),
        ("malloc", malloc),
        ("runs_outside_main", runs_outside_main),
        ("weak", weak),
    ]
}

impl Printer<'_> {
    pub(super) fn function(&mut self, function: &Function) {
        self.text("fn ");
        self.name(function.name);
        self.text(": ");
        self.ty(function.ty);
        match function.linkage {
            Linkage::External => {}
            Linkage::Internal => self.text(" static"),
        }
        let mut attributes = function.attributes.clone();
        for (word, set) in attribute_words(&mut attributes) {
            if *set {
                self.text(" ");
                self.text(word);
            }
        }
        if function.variadic != signature_is_variadic(function.ty) {
            self.text(if function.variadic { " variadic" } else { " fixed" });
        }
        self.text(" {\n");
        for local in &function.locals {
            self.declaration(local);
        }
        if function.parameters != parameters_by_role(&function.locals) {
            self.text("  parameters");
            for id in &function.parameters {
                self.text(" ");
                self.local(*id);
            }
            self.text("\n");
        }
        if function.result != result_by_role(&function.locals) {
            self.text("  returns ");
            match function.result {
                Some(id) => self.local(id),
                None => self.text("?"),
            }
            self.text("\n");
        }
        let Function { locations, entry, exit, .. } = function;
        let _ = writeln!(self.out, "  locations {locations} entry {entry} exit {exit}");
        for edge in &function.edges {
            let _ = write!(self.out, "  {} -> {} @{}: ", edge.from, edge.to, edge.site.0);
            self.site = Some(edge.site);
            self.op(&edge.op);
            self.site = None;
            self.text("\n");
        }
        for Obligation { check, error, site, text } in &function.obligations {
            let _ = write!(self.out, "  obligation {} {error} @{} ", check.code(), site.0);
            let quoted = super::name::quoted(text);
            self.text(&quoted);
            self.text("\n");
        }
        for (name, loc) in &function.labels {
            self.text("  label ");
            self.name(*name);
            let _ = writeln!(self.out, " {loc}");
        }
        for Approximation { what, site } in &function.approximations {
            let _ = writeln!(self.out, "  approximation {} @{}", super::name::quoted(what), site.0);
        }
        for Operands { bounds } in &function.operands {
            let _ = write!(self.out, "  operands {}", bounds.len());
            for loc in bounds {
                let _ = write!(self.out, " {loc}");
            }
            self.text("\n");
        }
        for result in &function.library_results {
            self.text("  computed ");
            self.local(result.dst);
            let absence = if result.is_absence { " absence" } else { "" };
            let _ = write!(self.out, "{absence} {}(", result.quantity.name());
            for (at, argument) in result.arguments.iter().enumerate() {
                self.text(if at == 0 { "" } else { ", " });
                self.expr(argument);
            }
            self.text(")\n");
        }
        for (loc, what) in &function.unsupported {
            let _ = writeln!(self.out, "  unsupported {loc} {}", super::name::quoted(what));
        }
        self.text("}\n");
    }

    fn declaration(&mut self, local: &Local) {
        let name = local.name.as_str();
        let plain = super::name::is_bare(name.strip_suffix('?').unwrap_or(name));
        let written = if plain { name.to_owned() } else { super::name::quoted(name) };
        let _ = write!(self.out, "  {} {written}: ", role_text(local.role));
        self.ty(local.ty);
        if local.size != self.surroundings.size(local.ty) {
            let _ = write!(self.out, " size {}", local.size);
        }
        if local.address_taken {
            self.text(" addressed");
        }
        self.text("\n");
    }
}

impl Parser<'_> {
    pub(super) fn loc(&mut self) -> Result<Loc, ParseError> {
        let number =
            self.word_at(self.at).and_then(|word| word.strip_prefix('l')).and_then(|n| n.parse().ok());
        let Some(number) = number else { return self.fail("a location (`l0`)") };
        self.at += 1;
        Ok(Loc(number))
    }

    pub(super) fn function(&mut self) -> Result<Function, ParseError> {
        self.expect_word("fn")?;
        let name = self.name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let linkage = if self.word("static") { Linkage::Internal } else { Linkage::External };
        let mut attributes = FunctionAttributes::default();
        for (word, set) in attribute_words(&mut attributes) {
            *set = self.word(word);
        }
        let variadic = if self.word("variadic") {
            true
        } else if self.word("fixed") {
            false
        } else {
            signature_is_variadic(ty)
        };
        self.expect("{")?;
        self.locals.clear();
        while let Some(role) = ROLES.iter().find(|(text, _)| self.word(text)).map(|(_, role)| *role) {
            let local = self.declaration(role)?;
            self.locals.push(local);
        }
        let mut parameters = parameters_by_role(&self.locals);
        if self.word("parameters") {
            parameters.clear();
            while matches!(self.peek(), super::lex::TokenKind::Local(_)) {
                parameters.push(self.local()?);
            }
        }
        let mut result = result_by_role(&self.locals);
        if self.word("returns") {
            result = if self.punct("?") { None } else { Some(self.local()?) };
        }
        self.expect_word("locations")?;
        let locations = self.number("the number of locations")?;
        self.expect_word("entry")?;
        let entry = self.loc()?;
        self.expect_word("exit")?;
        let exit = self.loc()?;
        let mut function = Function {
            name,
            ty,
            linkage,
            attributes,
            locals: Vec::new(),
            parameters,
            result,
            variadic,
            locations,
            entry,
            exit,
            edges: Vec::new(),
            obligations: Vec::new(),
            labels: Vec::new(),
            approximations: Vec::new(),
            operands: Vec::new(),
            library_results: Vec::new(),
            unsupported: Vec::new(),
        };
        while !self.punct("}") {
            self.item(&mut function)?;
        }
        function.locals = std::mem::take(&mut self.locals);
        Ok(function)
    }

    fn item(&mut self, function: &mut Function) -> Result<(), ParseError> {
        if self.word("obligation") {
            let check = self.check()?;
            let error = self.loc()?;
            let site = self.expect_site()?;
            let text = self.name()?;
            function.obligations.push(Obligation { check, error, site, text });
        } else if self.word("label") {
            let name = self.name()?;
            function.labels.push((name, self.loc()?));
        } else if self.word("approximation") {
            let what = self.name()?;
            function.approximations.push(Approximation { what, site: self.expect_site()? });
        } else if self.word("operands") {
            let count: u32 = self.number("how many locations")?;
            let bounds = (0..count).map(|_| self.loc()).collect::<Result<_, _>>()?;
            function.operands.push(Operands { bounds });
        } else if self.word("computed") {
            let result = self.library_result()?;
            function.library_results.push(result);
        } else if self.word("unsupported") {
            let loc = self.loc()?;
            function.unsupported.push((loc, self.name()?));
        } else {
            let from = self.loc()?;
            self.expect("->")?;
            let to = self.loc()?;
            // A test may leave the site out.
            let site = self.site().unwrap_or_default();
            self.expect(":")?;
            self.site = Some(site);
            let op = self.op()?;
            self.site = None;
            function.edges.push(Edge { from, to, op, site });
        }
        Ok(())
    }

    fn library_result(&mut self) -> Result<LibraryResult, ParseError> {
        let dst = self.local()?;
        let is_absence = self.word("absence");
        let name = self.any_word("the name of a quantity")?;
        let Some((quantity, _)) = Quantity::by_name(&name) else {
            return Err(self.error(format!("`{name}` is not the name of a quantity")));
        };
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.punct(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.expr()?);
        }
        Ok(LibraryResult { dst, quantity, arguments, is_absence })
    }

    fn check(&mut self) -> Result<CheckId, ParseError> {
        let mut code = self.any_word("the code of a check")?;
        while self.punct("-") {
            code.push('-');
            code.push_str(&self.any_word("the code of a check")?);
        }
        Ok(CheckId::new(&code))
    }

    fn declaration(&mut self, role: Role) -> Result<Local, ParseError> {
        let mut text = match self.quoted() {
            Some(text) => text,
            None => self.any_word("a name")?,
        };
        if self.punct("?") {
            text.push('?');
        }
        self.expect(":")?;
        let ty: Type = self.ty()?;
        let size = if self.word("size") { self.number("bytes")? } else { self.surroundings.size(ty) };
        let address_taken = self.word("addressed");
        Ok(Local { name: Name::new(&text), ty, role, address_taken, size })
    }
}
