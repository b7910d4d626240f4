//! Every hand-made report in every format.

mod cases;
mod json;
mod sarif;
mod text;
