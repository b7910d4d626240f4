//! Records made by hand, whole and damaged, and what is read from them.

mod damage;
mod findings;
mod stamps;
mod symbols;
mod written;
