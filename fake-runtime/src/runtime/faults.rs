//! What can go wrong between a runtime and a plugin, on purpose.
//!
//! Faults of a registration, and those with `next` in what they say, are planned and happen once. The others happen
//! at once, on the connection of the plugin that is asked first. Whatever is left to chance is drawn from
//! [`Builder::seed`](super::Builder::seed), so that a run can be repeated.

mod bytes;
mod fault;

use std::time::Duration;

use nri_proto::api::{CreateContainerRequest, Empty};
use nri_proto::wire::{PLUGIN_CONNECTION, RUNTIME_CONNECTION, Split};

pub use fault::{Fault, FaultError};

use super::creation;
use super::hub::WaitTimeout;
use super::pace::Pace;
use super::plan::{Call, Handshake};
use super::plugin::Plugin;
use super::{Created, FakeRuntime, Refused};
use crate::create::Answer;
use crate::oci::Spec;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Before the frame of a request.
    BeforeFrame,
    /// Somewhere inside it.
    WithinFrame,
    /// After it, without waiting for the answer.
    AfterFrame,
}

/// Faults of a registration: they happen to the next plugin that connects.
impl FakeRuntime {
    /// The next registration is never answered. The connection stays open.
    pub fn never_answer_registration(&self) {
        self.hub.plan.plan_handshake(Handshake::NeverAnswered);
    }

    /// The next registration is answered, and never followed by Configure. The connection stays open.
    pub fn never_configure(&self) {
        self.hub.plan.plan_handshake(Handshake::NeverConfigured);
    }

    /// The next registration is answered only when the plugin has answered Configure, as containerd does now and then.
    pub fn configure_first(&self) {
        self.hub.plan.plan_handshake(Handshake::ConfiguredFirst);
    }

    /// Everything on the next connection is sent in frames of one byte each.
    pub fn split_at_every_byte(&self) {
        self.hub.plan.plan_split(Split::every(1));
    }

    /// Everything on the next connection is sent in frames of some length.
    pub fn split_at_random(&self) {
        let [first, rest] = [(); 2].map(|()| self.hub.random(1..=64));
        self.hub.plan.plan_split(Split { first, rest });
    }
}

/// Faults of time: they happen to the next call.
impl FakeRuntime {
    /// The next of these calls comes so much later.
    pub fn delay(&self, call: Call, delay: Duration) {
        self.hub.plan.plan_delay(call, delay);
    }

    /// The answer to the next CreateContainer is read at this pace.
    pub fn read_slowly(&self, pace: Pace) {
        self.hub.plan.plan_pace(pace);
    }

    /// Asks about two containers at the same time, which containerd never does.
    ///
    /// # Errors
    ///
    /// Of each, what makes containerd refuse it.
    pub async fn create_two_at_once(
        &self,
        requests: [CreateContainerRequest; 2],
    ) -> [Result<Created, Refused>; 2] {
        let hub = &self.hub;
        let _no_other = hub.requests.lock().await;
        let create = |request: CreateContainerRequest| {
            let container = request.container.clone().unwrap_or_default();
            let spec = Spec::of(&container, hub.profile);
            creation::create_at_once(hub, request, spec)
        };
        let [one, other] = requests;
        let (one, other) = tokio::join!(create(one), create(other));
        [one, other]
    }
}

/// Faults of a connection: they happen at once, to the plugin that is asked first. Each waits for one to be there.
impl FakeRuntime {
    /// Closes the connection around a CreateContainer request.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn cut(&self, cut: Cut) -> Result<(), WaitTimeout> {
        let plugin = self.idle_plugin().await?;
        let _no_other = self.hub.requests.lock().await;
        let frames = bytes::request(bytes::FIRST_STREAM);
        let sent = match cut {
            Cut::BeforeFrame => 0,
            Cut::WithinFrame => self.hub.random(1..=frames.len() - 1),
            Cut::AfterFrame => frames.len(),
        };
        self.send(&plugin, frames.slice(..sent)).await;
        plugin.close(&self.hub, "the runtime cut the connection");
        Ok(())
    }

    /// Says that nothing more will be sent, and goes on reading.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn half_close(&self) -> Result<(), WaitTimeout> {
        let plugin = self.idle_plugin().await?;
        plugin.link.half_close();
        // Any byte: it is swallowed.
        self.send(&plugin, bytes::garbage(1, || 0)).await;
        Ok(())
    }

    /// Sends a frame of a logical connection that NRI does not have.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn unknown_connection(&self) -> Result<(), WaitTimeout> {
        let connection = u32::try_from(self.hub.random(3..=0xffff)).unwrap_or(3);
        let frame = bytes::frame(connection, b"nobody listens here");
        self.inject(frame).await
    }

    /// Sends a message that is neither a request nor a response.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn unknown_type(&self) -> Result<(), WaitTimeout> {
        let kind = u8::try_from(self.hub.random(3..=255)).unwrap_or(3);
        self.inject(bytes::message(PLUGIN_CONNECTION, bytes::FIRST_STREAM, kind))
            .await
    }

    /// Answers a call that the plugin never made.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn unknown_stream(&self) -> Result<(), WaitTimeout> {
        let stream = u32::try_from(self.hub.random(501..=999)).unwrap_or(501);
        self.inject(bytes::message(
            RUNTIME_CONNECTION,
            stream | 1,
            nri_proto::wire::RESPONSE,
        ))
        .await
    }

    /// Calls a method that plugins do not have, and says what came back.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn unknown_method(&self) -> Result<Answer, WaitTimeout> {
        self.call("MakeCoffee", &Empty::default()).await
    }

    /// Calls any method of the plugin that is asked first, and says what came back. An empty adjustment stands for
    /// any answer that is not an error.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn call(
        &self,
        method: &str,
        request: &impl prost::Message,
    ) -> Result<Answer, WaitTimeout> {
        let plugin = self.idle_plugin().await?;
        let _no_other = self.hub.requests.lock().await;
        let answer = plugin.call::<Empty>(&self.hub, method, request).await;
        Ok(answer.map_or_else(Answer::from, |_| Answer::Adjust(Box::default())))
    }

    /// Sends two requests under a stream id that an earlier call had.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn reused_stream(&self) -> Result<(), WaitTimeout> {
        let twice = [
            bytes::request(bytes::FIRST_STREAM),
            bytes::request(bytes::FIRST_STREAM),
        ];
        self.inject(twice.concat().into()).await
    }

    /// Announces a frame over the limit. The plugin has to close the connection.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn oversized_frame(&self) -> Result<(), WaitTimeout> {
        self.inject(bytes::oversized()).await
    }

    /// Sends bytes that mean nothing and closes the connection.
    ///
    /// # Errors
    ///
    /// No plugin is there after [`Builder::patience`](super::Builder::patience).
    pub async fn garbage(&self) -> Result<(), WaitTimeout> {
        let plugin = self.idle_plugin().await?;
        let length = self.hub.random(1..=512);
        let any = || u8::try_from(self.hub.random(0..=255)).unwrap_or(0);
        self.send(&plugin, bytes::garbage(length, any)).await;
        plugin.close(
            &self.hub,
            "the runtime sent garbage and closed the connection",
        );
        Ok(())
    }

    async fn inject(&self, bytes: ::bytes::Bytes) -> Result<(), WaitTimeout> {
        let plugin = self.idle_plugin().await?;
        let _no_other = self.hub.requests.lock().await;
        self.send(&plugin, bytes).await;
        Ok(())
    }

    async fn idle_plugin(&self) -> Result<Plugin, WaitTimeout> {
        self.hub
            .wait("a registered plugin", |state| {
                state.plugins.first().cloned()
            })
            .await
    }

    /// Puts bytes on the plugin's socket, and returns when they are there or can no longer be.
    async fn send(&self, plugin: &Plugin, bytes: ::bytes::Bytes) {
        let written = plugin.link.written() + bytes.len();
        plugin.caller.inject(bytes);
        let sent = plugin.link.has_written(written);
        // A plugin that reads no more is closed as one that answers no more is.
        let _ = tokio::time::timeout(self.hub.timeouts.request, sent).await;
    }
}
