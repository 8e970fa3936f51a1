//! The pure state machine of a Bowline run: messages in, events and effects out.
