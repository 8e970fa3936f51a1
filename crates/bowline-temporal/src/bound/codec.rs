//! Messages are looked at before they are unfolded, wherever a call reads one.

use std::marker::PhantomData;

use prost::{Message, Name, bytes::Buf};
use tonic::{
    Status,
    codec::{Codec as TonicCodec, DecodeBuf, Decoder},
};
use tonic_prost::{ProstCodec, ProstEncoder};

use super::{OverBound, weigh};
use crate::{access, serve::Handover, status};

/// How all calls are read and answered.
#[derive(Debug)]
pub(crate) struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> TonicCodec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Name + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = Reader<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        Reader(PhantomData)
    }
}

/// Reads one kind of request.
#[derive(Debug)]
pub(crate) struct Reader<U>(PhantomData<U>);

impl<U: Message + Default + Name> Decoder for Reader<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, sent: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // It is there as a whole, in one piece.
        let weight = weigh::<U>(sent.chunk()).map_err(refused)?;
        if let Some(call) = Handover::current() {
            call.weighs(weight)?;
        }
        let signature = access::enter::<U>(sent.chunk())?;
        let read = match signature.is_empty() {
            true => U::decode(sent),
            false => U::decode(sent.chain(&*signature)),
        };
        Ok(Some(read.map_err(|why| Status::internal(why.to_string()))?))
    }
}

fn refused(fault: OverBound) -> Status {
    match fault {
        OverBound::Unreadable => Status::internal(fault.to_string()),
        _ => status::invalid(fault.to_string()),
    }
}
