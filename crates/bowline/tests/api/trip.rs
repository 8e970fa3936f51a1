//! A saga with typed errors and shared state.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bowline::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Place;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trip {
    to: String,
    cents: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Booking(String);

#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum AgencyError {
    #[error("no {0} left")]
    SoldOut(String),
}

#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum TripError {
    #[error("nobody travels for {0} cents")]
    TooCheap(u64),
    #[error("the agency says: {0}")]
    Agency(AgencyError),
}

impl From<AgencyError> for TripError {
    fn from(error: AgencyError) -> Self {
        Self::Agency(error)
    }
}

#[derive(Clone, Default)]
struct Agency {
    sold_out: &'static str,
    undone: Arc<Mutex<Vec<String>>>,
}

impl Agency {
    fn book(&self, what: &str, trip: &Trip) -> Result<Booking, AgencyError> {
        match self.sold_out == what {
            true => Err(AgencyError::SoldOut(what.to_owned())),
            false => Ok(Booking(format!("{what} to {}", trip.to))),
        }
    }

    async fn flight(&self, trip: Trip) -> Result<Booking, AgencyError> {
        self.book("flight", &trip)
    }

    async fn hotel(&self, trip: Trip) -> Result<Booking, AgencyError> {
        self.book("hotel", &trip)
    }

    async fn car(&self, _ctx: ActivityCtx, trip: Trip) -> Result<Booking, AgencyError> {
        self.book("car", &trip)
    }

    async fn undo(&self, booking: Booking) -> Result<(), AgencyError> {
        self.undone.lock().expect("nobody panics with it").push(booking.0);
        Ok(())
    }
}

async fn trip(ctx: Ctx, trip: Trip) -> bowline::Result<Vec<Booking>, TripError> {
    if trip.cents < 100 {
        return Err(TripError::TooCheap(trip.cents).into());
    }
    let booking = ctx.scope(async {
        let flight = ctx.activity(Agency::flight, &trip).timeout(Duration::from_secs(10)).await?;
        let (hotel, car) =
            join!(ctx.activity(Agency::hotel, &trip), ctx.activity(Agency::car, &trip));
        Ok(vec![flight, hotel?, car?])
    });
    let undone = booking.deadline(Duration::from_secs(86_400)).cleanup(async |ctx, stopped| {
        let (hotel, flight) = (stopped.completed(Agency::hotel), stopped.completed(Agency::flight));
        for booking in stopped.completed(Agency::car).into_iter().chain(hotel).chain(flight) {
            ctx.activity(Agency::undo, booking)
                .retry(Retry::exponential(Duration::from_secs(1)))
                .await?;
        }
        Ok(())
    });
    Ok(undone.await?)
}

async fn travel(agency: Agency, cents: u64) -> Result<Vec<Booking>, Ended<TripError>> {
    let place = Place::new();
    let app = place.open().state(agency).workflow(trip).activity(Agency::flight);
    let app = app.activity(Agency::hotel).activity(Agency::car).activity(Agency::undo);
    let bowline = app.start().await.expect("it starts");
    let wanted = Trip { to: "Oslo".to_owned(), cents };
    let run = bowline.start(trip, "trip", wanted).await.expect("it is started");
    run.outcome().await.expect("it ends")
}

#[tokio::test]
async fn a_trip_is_booked() {
    let booked = travel(Agency::default(), 200).await.expect("all is there");
    let names: Vec<_> = booked.iter().map(|booking| booking.0.as_str()).collect();
    assert_eq!(names, ["flight to Oslo", "hotel to Oslo", "car to Oslo"]);
}

#[tokio::test]
async fn what_was_booked_is_undone_and_the_error_keeps_its_type() {
    let agency = Agency { sold_out: "car", ..Agency::default() };
    let ended = travel(agency.clone(), 200).await.expect_err("there is no car");
    let expected = TripError::Agency(AgencyError::SoldOut("car".to_owned()));
    assert_eq!(ended, Ended::Failed(expected));
    let undone = agency.undone.lock().expect("nobody panics with it").clone();
    assert_eq!(undone, ["hotel to Oslo", "flight to Oslo"]);
}

#[tokio::test]
async fn the_workflows_own_error_has_its_type_too() {
    let ended = travel(Agency::default(), 7).await.expect_err("it is too cheap");
    assert_eq!(ended, Ended::Failed(TripError::TooCheap(7)));
}
