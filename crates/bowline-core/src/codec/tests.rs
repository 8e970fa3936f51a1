//! The durable format: nothing is lost, nothing damaged is read, nothing written is forgotten.

mod compat;
mod damage;
mod fuzz;
mod golden;
mod round;
mod sample;
mod scramble;
