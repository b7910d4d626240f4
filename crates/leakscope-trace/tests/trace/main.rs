//! Records made by hand, whole and damaged, and what is read from them.

mod damage;
mod findings;
mod symbols;
mod written;
