//! Who asks: browsers log in and out, and everybody may know who they are.

use axum::{
    Extension, Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bowline_access::{Caller, How, Ticket, browser};

use crate::{
    call::{Body, Call},
    model::{LogInBody, Me},
    problem::{Answer, Refused},
};

/// `POST /api/v1/session`
pub(crate) async fn log_in(
    ticket: Option<Extension<Ticket>>,
    Body(body): Body<LogInBody>,
) -> Result<Response, Refused> {
    let Some(Extension(ticket)) = ticket else {
        let detail = "nobody needs to log in here: every request is answered";
        return Err(Refused::new(StatusCode::CONFLICT, "not_needed", detail));
    };
    let credential = body.credential.trim();
    if !browser::fits_cookie(credential) {
        let detail = "this is no API key or token that a browser can keep";
        return Err(Refused::invalid(detail));
    }
    let caller = ticket.log_in(credential).await?;
    Ok(keeping(browser::set_cookie(credential), me_of(Some(&caller))))
}

/// `DELETE /api/v1/session`
pub(crate) async fn log_out() -> Response {
    keeping(browser::forget_cookie(), me_of(None))
}

/// `GET /api/v1/me`
pub(crate) async fn me(call: Call) -> Answer<Me> {
    Ok(Json(me_of(call.known().as_ref())))
}

fn me_of(caller: Option<&Caller>) -> Me {
    let how = caller.map(|caller| match caller.how() {
        How::Key => "key",
        How::Token => "token",
        How::Certificate => "certificate",
        _ => "user",
    });
    Me { who: caller.map(|caller| caller.who().to_owned()), how: how.map(str::to_owned) }
}

fn keeping(cookie: String, me: Me) -> Response {
    let mut answer = Json(me).into_response();
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}
