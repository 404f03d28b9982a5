//! Compares the admission of a route with the arguments of its handler, at compile time.

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::HeaderMap,
};

use super::{
    Caller, Payer,
    auth::{Charge, charge::Submission},
};
use crate::http::{App, fresh::Known, route::Admission};

/// An admission as a type, for the table of routes.
pub trait Admits {
    const ADMISSION: Admission;
}

impl<C: Charge> Admits for C {
    const ADMISSION: Admission = Admission::Priced(C::PRICE);
}

/// No key is required.
pub struct Public;

impl Admits for Public {
    const ADMISSION: Admission = Admission::Public;
}

/// No key is required, and no rate limit applies.
pub struct Operator;

impl Admits for Operator {
    const ADMISSION: Admission = Admission::Operation;
}

/// The arguments of a handler that requires the admission `A`, as axum lists them: a marker, then the arguments.
pub trait Admitted<A> {}

macro_rules! admitted {
    ($($rest:ident)*) => {
        impl<M, C, $($rest),*> Admitted<C> for (M, Caller<C>, $($rest),*) {}
        impl<M, $($rest),*> Admitted<Submission> for (M, Payer, $($rest),*) {}
    };
}

admitted!();
admitted!(A1);
admitted!(A1 A2);
admitted!(A1 A2 A3);
admitted!(A1 A2 A3 A4);
admitted!(A1 A2 A3 A4 A5);
admitted!(A1 A2 A3 A4 A5 A6);

impl Admitted<Public> for ((),) {}
impl<M> Admitted<Public> for (M, Result<Path<String>, PathRejection>) {}
impl<M> Admitted<Public> for (M, State<App>) {}
impl<M> Admitted<Public> for (M, State<App>, Result<Path<String>, PathRejection>) {}
impl<M> Admitted<Public> for (M, Known) {}
impl<M> Admitted<Public> for (M, HeaderMap) {}
impl Admitted<Operator> for ((),) {}
impl<M> Admitted<Operator> for (M, State<App>) {}
