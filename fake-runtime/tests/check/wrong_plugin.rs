//! A small plugin that does one thing wrong. It is this test binary itself, started with a fault as its argument.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use nri_proto::api::{
    self, ConfigureResponse, ContainerAdjustment, CreateContainerRequest, CreateContainerResponse,
    KeyValue, RegisterPluginRequest, SynchronizeRequest, SynchronizeResponse, plugin, runtime,
};
use nri_proto::wire::{
    self, Caller, Closed, Incoming, MAX_FRAME, Message as TtrpcMessage, PLUGIN_CONNECTION, Request,
    Side, Split, envelope,
};
use prost::Message;
use tokio::net::UnixStream;

use super::wrong_socket::WrongSocket;

const CREATE_CONTAINER: i32 = 1 << (api::Event::CreateContainer as i32 - 1);
const ADDED: &str = "ADDED_BY_THE_PLUGIN";

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wrong {
    /// Nothing.
    Nothing,
    /// Registers under an index of three digits.
    Index,
    /// Answers Configure only once its registration is answered.
    ConfigureLater,
    /// Subscribes to everything, and implements CreateContainer.
    SubscribesToAll,
    /// Does not give `more` back.
    ForgetsMore,
    /// Ends at its first question.
    Ends,
    /// Takes longer for an answer than it is given.
    Late,
    /// Answers another stream than the one it was asked on.
    Stream,
    /// Panics where a request has no container.
    Panics,
    /// Sets a variable twice in one adjustment.
    Duplicates,
    /// Sets a variable that it has set already.
    Repeats,
    /// Has no room for a request of more than 64 KiB.
    ShortBuffer,
    /// Sends an answer of 5 kB in one frame.
    LongFrame,
    /// Expects a message to come in one frame.
    OneFrame,
    /// Expects a message's header to come in one frame.
    WholeHeaders,
    /// Answers unknown methods as if it had them.
    AnswersAnything,
    /// Expects no other logical connections than NRI's.
    KnownConnections,
    /// Stays when its connection is closed.
    IgnoresClose,
    /// Stays when the runtime will send no more.
    IgnoresHalfClose,
    /// Forgets its name when it connects again.
    ForgetsName,
    /// Panics over bytes that mean nothing.
    PanicsOverGarbage,
}

/// Plays the plugin, until it is killed.
pub(crate) async fn play(wrong: Wrong, socket: &Path) {
    let mut name = "wrong";
    loop {
        let closed = connection(wrong, name, connect(socket).await).await;
        match wrong {
            Wrong::IgnoresClose => std::future::pending().await,
            Wrong::ForgetsName => name = "forgotten",
            Wrong::PanicsOverGarbage => assert!(matches!(closed, Closed::Peer), "{closed}"),
            _ => {}
        }
    }
}

async fn connect(socket: &Path) -> UnixStream {
    loop {
        match UnixStream::connect(socket).await {
            Ok(stream) => return stream,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Registers and serves until the connection ends.
async fn connection(wrong: Wrong, name: &str, stream: UnixStream) -> Closed {
    let split = match wrong {
        Wrong::LongFrame => Split::every(MAX_FRAME),
        _ => Split::CONTAINERD,
    };
    let socket = WrongSocket::new(stream, wrong);
    let (caller, incoming, driver) = wire::open_with(socket, Side::Plugin, split);
    let register = RegisterPluginRequest {
        plugin_name: name.to_owned(),
        plugin_idx: if wrong == Wrong::Index { "100" } else { "10" }.to_owned(),
        ..Default::default()
    };
    let serving = async {
        let payload = register.encode_to_vec();
        let registered = caller.call(runtime::SERVICE, runtime::REGISTER_PLUGIN, payload);
        if wrong == Wrong::ConfigureLater {
            registered.await.expect("the registration is accepted");
            serve(wrong, &caller, incoming).await;
        } else {
            let (registered, ()) = tokio::join!(registered, serve(wrong, &caller, incoming));
            registered.expect("the registration is accepted");
        }
    };
    tokio::select! {
        biased;
        closed = driver.run() => closed,
        () = serving => Closed::Peer,
    }
}

async fn serve(wrong: Wrong, caller: &Caller, mut incoming: Incoming) {
    // What is dropped is answered.
    let mut unanswered = Vec::new();
    while let Some(request) = incoming.next().await {
        match request.method.as_str() {
            plugin::CONFIGURE => {
                let events = match wrong {
                    Wrong::SubscribesToAll => 0,
                    _ => CREATE_CONTAINER,
                };
                request.reply(Ok(ConfigureResponse { events }.encode_to_vec()));
            }
            plugin::SYNCHRONIZE => {
                let more =
                    decoded::<SynchronizeRequest>(&request).more && wrong != Wrong::ForgetsMore;
                request.reply(Ok(SynchronizeResponse {
                    more,
                    ..Default::default()
                }
                .encode_to_vec()));
            }
            plugin::CREATE_CONTAINER => match wrong {
                Wrong::Ends => std::process::exit(3),
                Wrong::ShortBuffer if request.payload.len() > 64 << 10 => std::process::exit(4),
                Wrong::Stream => {
                    caller.inject(answer_elsewhere());
                    unanswered.push(request);
                }
                _ => {
                    if wrong == Wrong::Late {
                        tokio::time::sleep(Duration::from_secs(5)).await;
                    }
                    let adjust = Some(adjust(wrong, decoded(&request)));
                    let answer = CreateContainerResponse {
                        adjust,
                        ..Default::default()
                    };
                    request.reply(Ok(answer.encode_to_vec()));
                }
            },
            _ if wrong == Wrong::AnswersAnything => request.reply(Ok(Vec::new())),
            _ => request.reply_unimplemented(),
        }
    }
}

/// Sets a variable, unless it is set already.
fn adjust(wrong: Wrong, request: CreateContainerRequest) -> ContainerAdjustment {
    let container = match wrong {
        Wrong::Panics => request.container.expect("a container is always there"),
        _ => request.container.unwrap_or_default(),
    };
    let set = container.env.iter().any(|item| item.starts_with(ADDED));
    let mut adjustment = ContainerAdjustment::default();
    if set && wrong != Wrong::Repeats {
        return adjustment;
    }
    // Whoever is asked with long paths answers at length.
    let is_long = |item: &&String| item.starts_with("PATH=") && item.len() > 1000;
    let value = match container.env.iter().find(is_long) {
        Some(path) => path.repeat(2),
        None => "yes".to_owned(),
    };
    let pair = KeyValue {
        key: ADDED.to_owned(),
        value,
    };
    adjustment.env.push(pair.clone());
    if wrong == Wrong::Duplicates {
        adjustment.env.push(pair);
    }
    adjustment
}

fn answer_elsewhere() -> bytes::Bytes {
    const NEVER_ASKED: u32 = 4001;
    let response = envelope::Response::default();
    TtrpcMessage::response(NEVER_ASKED, &response).frames(PLUGIN_CONNECTION, Split::CONTAINERD)
}

fn decoded<T: Message + Default>(request: &Request) -> T {
    T::decode(request.payload.clone()).expect("the runtime sends what it should")
}
