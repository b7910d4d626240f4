//! Terms as SMT-LIB text. Each term gets a name, so what is shared is written
//! once.

use std::fmt::Write;

use crate::term::{Binary, Compare, Node, Pool, Term};

/// `(define-fun …)` or `(declare-const …)` of a term whose arguments are
/// written already.
pub fn definition(pool: &Pool, term: Term) -> String {
    let bits = pool.bits(term);
    let mut text = String::new();
    let result = match pool.node(term) {
        Node::Input(_) => write!(text, "(declare-const t{} (_ BitVec {bits}))", term.0),
        node => {
            write!(text, "(define-fun t{} () (_ BitVec {bits}) {})", term.0, expression(pool, node, bits))
        }
    };
    result.expect("a string takes all");
    text
}

fn expression(pool: &Pool, node: Node, bits: u32) -> String {
    match node {
        Node::Const(value) => format!("(_ bv{value} {bits})"),
        Node::Input(_) => unreachable!("inputs are declared"),
        Node::Not(a) => format!("(bvnot t{})", a.0),
        Node::Binary(op, a, b) => format!("({} t{} t{})", binary(op), a.0, b.0),
        Node::Compare(op, a, b) => format!("(ite ({} t{} t{}) #b1 #b0)", compare(op), a.0, b.0),
        Node::ZeroExtend(a) => format!("((_ zero_extend {}) t{})", bits - pool.bits(a), a.0),
        Node::SignExtend(a) => format!("((_ sign_extend {}) t{})", bits - pool.bits(a), a.0),
        Node::Extract(a, low) => {
            format!("((_ extract {} {low}) t{})", u32::from(low) + bits - 1, a.0)
        }
        Node::Concat(high, low) => format!("(concat t{} t{})", high.0, low.0),
        Node::Ite(condition, yes, no) => format!("(ite (= t{} #b1) t{} t{})", condition.0, yes.0, no.0),
    }
}

fn binary(op: Binary) -> &'static str {
    match op {
        Binary::Add => "bvadd",
        Binary::Sub => "bvsub",
        Binary::Mul => "bvmul",
        Binary::UDiv => "bvudiv",
        Binary::SDiv => "bvsdiv",
        Binary::URem => "bvurem",
        Binary::SRem => "bvsrem",
        Binary::And => "bvand",
        Binary::Or => "bvor",
        Binary::Xor => "bvxor",
        Binary::Shl => "bvshl",
        Binary::LShr => "bvlshr",
        Binary::AShr => "bvashr",
    }
}

fn compare(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "=",
        Compare::Ult => "bvult",
        Compare::Ule => "bvule",
        Compare::Slt => "bvslt",
        Compare::Sle => "bvsle",
    }
}
