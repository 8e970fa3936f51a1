//! A saga: what was booked is undone again, last first, if the rest cannot be had.
//!
//! The bookings are made in a scope, and its clean-up undoes them. It runs after a failure (Oslo
//! has no cars) and after a cancel (the customer of Bergen changes their mind) alike, once nothing
//! in the scope runs any more. In Bergen the car is booked *although* the cancel came first: such
//! a late success is not lost, and is undone with the rest.
//!
//! ```text
//! booked flight to Rome
//! booked hotel in Rome
//! booked car in Rome
//! Rome: flight to Rome, hotel in Rome, car in Rome
//! booked flight to Oslo
//! booked hotel in Oslo
//! undid hotel in Oslo
//! undid flight to Oslo
//! Oslo: failed: there is no car in Oslo
//! booked flight to Bergen
//! booked hotel in Bergen
//! booked car in Bergen
//! undid car in Bergen
//! undid hotel in Bergen
//! undid flight to Bergen
//! Bergen: cancelled: requested by customer (changed my mind)
//! ```

use bowline::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::Notify;

/// An error of your own comes back as what it was: as a type, and not as a text.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
enum AgencyError {
    #[error("there is no {0}")]
    SoldOut(String),
}

/// What activities share: a client of the agency, a pool of connections, a configuration.
struct Agency {
    without_cars: &'static str,
}

/// So that this program cancels at the right moment.
static ASKED_FOR_A_CAR: Notify = Notify::const_new();

impl Agency {
    async fn flight(&self, to: String) -> Result<String, AgencyError> {
        Ok(booked(format!("flight to {to}")))
    }

    async fn hotel(&self, to: String) -> Result<String, AgencyError> {
        Ok(booked(format!("hotel in {to}")))
    }

    async fn car(&self, ctx: ActivityCtx, to: String) -> Result<String, AgencyError> {
        let car = format!("car in {to}");
        if to == self.without_cars {
            return Err(AgencyError::SoldOut(car));
        }
        if to == "Bergen" {
            ASKED_FOR_A_CAR.notify_one();
            ctx.cancelled().await; // Too late to call back: the car is booked.
        }
        Ok(booked(car))
    }

    async fn undo(&self, booking: String) -> Result<(), AgencyError> {
        println!("undid {booking}");
        Ok(())
    }
}

fn booked(what: String) -> String {
    println!("booked {what}");
    what
}

async fn trip(ctx: Ctx, to: String) -> bowline::Result<Vec<String>, AgencyError> {
    let booking = ctx.scope(async {
        let flight = ctx.activity(Agency::flight, &to).await?;
        let hotel = ctx.activity(Agency::hotel, &to).await?;
        let car = ctx.activity(Agency::car, &to).timeout(Duration::from_secs(60)).await?;
        Ok(vec![flight, hotel, car])
    });
    let undone = booking.cleanup(async |ctx, stopped| {
        let mut bookings = stopped.completed(Agency::flight);
        bookings.extend(stopped.completed(Agency::hotel));
        bookings.extend(stopped.completed(Agency::car));
        for booking in bookings.into_iter().rev() {
            // A clean-up must not give up: this one is tried until the agency answers.
            let patient = Retry::exponential(Duration::from_secs(1));
            ctx.activity(Agency::undo, booking).retry(patient).await?;
        }
        Ok(())
    });
    Ok(undone.await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("saga.db")).workflow(trip);
    let app = app.state(Agency { without_cars: "Oslo" });
    let app = app.activity(Agency::flight).activity(Agency::hotel);
    let bowline = app.activity(Agency::car).activity(Agency::undo).start().await?;

    for to in ["Rome", "Oslo", "Bergen"] {
        let run = bowline.start(trip, format!("trip to {to}"), to).await?;
        if to == "Bergen" {
            ASKED_FOR_A_CAR.notified().await;
            run.cancel("changed my mind").by("customer").await?;
        }
        match run.outcome().await? {
            Ok(bookings) => println!("{to}: {}", bookings.join(", ")),
            Err(ended) => println!("{to}: {ended}"),
        }
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
