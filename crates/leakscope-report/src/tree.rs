//! Findings as a reader takes them in: each root with what is reachable only
//! from it.

use std::collections::BTreeMap;

use leakscope_core::Finding;

/// A finding to be shown, and the indirect ones folded under it.
pub(crate) struct Root<'a> {
    pub finding: &'a Finding,
    /// The blocks of the root are themselves reached from what is below.
    pub cycle: bool,
    pub below: Vec<&'a Finding>,
}

/// Groups `findings`, in their order. A finding goes under the root at the end
/// of its chain of first `via`s; a chain that comes back to itself has its
/// foremost finding as root, and one that leaves the report ends there.
pub(crate) fn roots(findings: &[Finding]) -> Vec<Root<'_>> {
    let index: BTreeMap<&str, usize> =
        findings.iter().enumerate().map(|(index, finding)| (finding.id.as_str(), index)).collect();
    let next = |at: usize| findings[at].via.iter().find_map(|id| index.get(id.as_str()).copied());
    let root_of = |start: usize| {
        let mut chain = vec![start];
        while let Some(at) = next(chain[chain.len() - 1]) {
            if let Some(entry) = chain.iter().position(|&seen| seen == at) {
                return *chain[entry..].iter().min().expect("the cycle has the finding that closed it");
            }
            chain.push(at);
        }
        chain[chain.len() - 1]
    };
    let mut below: Vec<Vec<&Finding>> = vec![Vec::new(); findings.len()];
    let mut is_root = vec![false; findings.len()];
    for (at, finding) in findings.iter().enumerate() {
        let root = root_of(at);
        if root == at {
            is_root[at] = true;
        } else {
            below[root].push(finding);
        }
    }
    findings
        .iter()
        .enumerate()
        .zip(below)
        .filter(|((at, _), _)| is_root[*at])
        .map(|((at, finding), below)| Root { finding, cycle: next(at).is_some(), below })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leakscope_core::{Kind, Place};

    /// `findings` are written `id<via,via`; roots come back as `id(below below)`,
    /// with `@` before a cycle's.
    fn check(findings: &str, expected: &str) {
        let findings: Vec<Finding> = findings
            .split(' ')
            .map(|word| {
                let (id, via) = word.split_once('<').unwrap_or((word, ""));
                Finding {
                    id: id.to_owned(),
                    via: via.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect(),
                    ..Finding::new(Kind::Lost, Place::default())
                }
            })
            .collect();
        let found: Vec<String> = roots(&findings)
            .into_iter()
            .map(|root| {
                let below: Vec<&str> = root.below.iter().map(|finding| finding.id.as_str()).collect();
                format!("{}{}({})", if root.cycle { "@" } else { "" }, root.finding.id, below.join(" "))
            })
            .collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn indirect_findings_go_under_their_root() {
        check("a b", "a() b()");
        check("a b<a c<b d<a,x", "a(b c d)");
        check("a<a", "@a()");
        check("a<b b<a c<b", "@a(b c)");
        check("a<gone b<a", "a(b)");
        check("a<gone,b b", "b(a)");
    }
}
