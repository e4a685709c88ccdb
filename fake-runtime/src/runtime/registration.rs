//! From a connection to a plugin that is asked: registration, Configure, Synchronize.

use std::sync::Arc;

use nri_proto::api::{
    ConfigureRequest, ConfigureResponse, RegisterPluginRequest, UpdateContainersRequest,
    UpdateContainersResponse,
};
use nri_proto::wire::{self, Caller, Code, Incoming, Request, Side, Status};
use prost::Message as _;
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::calls::{self, RUNTIME_SERVICE};
use super::hub::Hub;
use super::identity;
use super::link::Link;
use super::plan::{Call, Handshake};
use super::plugin::{Plugin, PluginInfo};
use super::received::Received;
use super::running::UpdateFate;
use super::synchronize::synchronize;

const CLOSED_BY_US: &str = "the runtime closed the connection";

/// A name and an index that were accepted, or why they were not.
type Registration = Result<RegisterPluginRequest, String>;

/// What a plugin is given that the runtime starts itself. It is not asked for its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Two digits.
    pub index: String,
    /// Its name.
    pub name: String,
    /// The text of its configuration file.
    pub config: String,
}

/// Plays one connection up to the point where its plugin is asked about containers, or is none.
pub(super) async fn register(
    hub: &Arc<Hub>,
    stream: UnixStream,
    given: Option<Given>,
    connections: &mut JoinSet<()>,
) {
    let connection = hub.connected();
    let handshake = hub.plan.handshake();
    let (stream, link) = Link::new(stream, {
        let (hub, connection) = (hub.clone(), connection.clone());
        move |id| hub.note_stray(&connection, id)
    });
    let (caller, incoming, driver) = wire::open_with(stream, Side::Runtime, hub.plan.split());
    let driver = connections.spawn({
        let (hub, connection) = (hub.clone(), connection.clone());
        async move {
            let closed = driver.run().await;
            hub.remove(&connection, &closed.to_string());
        }
    });
    let (registered, registration) = oneshot::channel();
    let (configured, until_configured) = oneshot::channel();
    let answering = Answering {
        registered,
        handshake,
        until_configured,
        given: given.clone(),
    };
    connections.spawn(serve(hub.clone(), connection.clone(), incoming, answering));

    let reject = |why: String| {
        hub.note(Received::Rejected {
            plugin: connection.clone(),
            why,
        });
    };
    let waited = tokio::time::timeout(hub.timeouts.registration, registration).await;
    let registration = match waited {
        Ok(Ok(Ok(registration))) => registration,
        // containerd leaves the connection open: closing it is up to the plugin.
        Ok(Ok(Err(why))) => return reject(why),
        Ok(Err(_)) => return reject("the connection closed before a registration".to_owned()),
        Err(_) => {
            reject("plugin registration timed out".to_owned());
            driver.abort();
            return hub.remove(&connection, CLOSED_BY_US);
        }
    };
    let plugin = Plugin {
        info: PluginInfo {
            index: registration.plugin_idx,
            name: registration.plugin_name,
            events: 0,
        },
        connection,
        caller,
        link,
        is_older: Arc::default(),
        driver,
    };
    if matches!(
        handshake,
        Handshake::NeverAnswered | Handshake::NeverConfigured
    ) {
        return;
    }
    if let Err(why) = admit(hub, &plugin, given.as_ref(), configured).await {
        let name = plugin.info.to_string();
        hub.note(Received::Rejected { plugin: name, why });
        plugin.close(hub, CLOSED_BY_US);
    }
}

/// Configures and synchronizes a plugin, and from then on asks it.
async fn admit(
    hub: &Arc<Hub>,
    plugin: &Plugin,
    given: Option<&Given>,
    configured: oneshot::Sender<()>,
) -> Result<(), String> {
    let config = given.map(|given| given.config.clone());
    let events = configure(hub, &plugin.caller, config.unwrap_or_default()).await?;
    // Whoever waited for it has gone with the connection.
    let _ = configured.send(());
    let info = PluginInfo {
        events,
        ..plugin.info.clone()
    };
    hub.note(Received::Configured {
        plugin: info.to_string(),
        events,
    });
    let beyond = events & !hub.profile.events;
    if beyond != 0 {
        return Err(format!("invalid plugin events: {beyond:#x}"));
    }
    hub.plan.delay(Call::Synchronize).await;
    let _one_at_a_time = hub.requests.lock().await;
    let parts = if given.is_some() && !hub.profile.synchronizes_preinstalled {
        0
    } else {
        let (parts, updates) = synchronize(hub, &plugin.caller).await?;
        if !updates.is_empty() {
            let updates = updates
                .iter()
                .map(|it| hub.running(|running| running.update(it)));
            hub.note(Received::Updates {
                plugin: info.to_string(),
                updates: updates.collect(),
            });
        }
        parts
    };
    hub.add(
        Plugin {
            info,
            ..plugin.clone()
        },
        parts,
    );
    Ok(())
}

async fn configure(hub: &Hub, caller: &Caller, config: String) -> Result<i32, String> {
    let tells = hub.profile.configure;
    let milliseconds = |timeout: std::time::Duration| {
        if tells.timeouts {
            i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX)
        } else {
            0
        }
    };
    let request = ConfigureRequest {
        config,
        runtime_name: hub.profile.runtime.to_owned(),
        runtime_version: hub.profile.runtime_version.to_owned(),
        registration_timeout: milliseconds(hub.timeouts.registration),
        request_timeout: milliseconds(hub.timeouts.request),
        nri_version: if tells.nri_version {
            hub.profile.nri_version.to_owned()
        } else {
            String::new()
        },
    };
    hub.plan.delay(Call::Configure).await;
    let answer: ConfigureResponse =
        calls::call(caller, hub.timeouts.request, "Configure", &request)
            .await
            .map_err(|error| format!("failed to configure plugin: {error}"))?;
    Ok(answer.events)
}

/// How a registration is answered.
struct Answering {
    registered: oneshot::Sender<Registration>,
    handshake: Handshake,
    until_configured: oneshot::Receiver<()>,
    /// Where the runtime started the plugin.
    given: Option<Given>,
}

impl Answering {
    /// Answers, and has the plugin configured, in the order that the handshake asks for. Gives the request back
    /// where it is to stay without an answer.
    async fn answer(
        self,
        hub: &Hub,
        request: Request,
        registration: Registration,
    ) -> Option<Request> {
        let reply = reply(&registration);
        // Whoever waits for it may have given up, and will close the connection.
        let register = || drop(self.registered.send(registration));
        hub.plan.delay(Call::RegistrationAnswer).await;
        match self.handshake {
            Handshake::InOrder | Handshake::NeverConfigured => {
                request.reply(reply);
                register();
                None
            }
            Handshake::ConfiguredFirst => {
                register();
                // The error says that it never will be.
                let _ = self.until_configured.await;
                request.reply(reply);
                None
            }
            Handshake::NeverAnswered => {
                register();
                Some(request)
            }
        }
    }
}

/// Serves what plugins ask of a runtime, until the connection ends.
async fn serve(hub: Arc<Hub>, connection: String, mut incoming: Incoming, answering: Answering) {
    let given = answering.given.clone();
    let mut answering = Some(answering);
    let mut plugin = connection;
    // Dropped, it would be answered with an error.
    let mut _never_answered = None;
    while let Some(request) = incoming.next().await {
        match (request.service.as_str(), request.method.as_str()) {
            (RUNTIME_SERVICE, "RegisterPlugin") => {
                let registration = read_registration(&hub, given.as_ref(), &request);
                if let Ok(identity) = &registration {
                    let index = &identity.plugin_idx;
                    plugin = format!("{index}-{}", identity.plugin_name);
                    hub.note(Received::Registered {
                        plugin: plugin.clone(),
                    });
                }
                match answering.take() {
                    Some(first) => {
                        _never_answered = first.answer(&hub, request, registration).await;
                    }
                    None => request.reply(reply(&registration)),
                }
            }
            (RUNTIME_SERVICE, "UpdateContainers") => answer_update(&hub, &plugin, request).await,
            (service, method) => {
                let method = format!("{service}/{method}");
                hub.note(Received::UnknownCall {
                    plugin: plugin.clone(),
                    method,
                });
                request.reply_unimplemented();
            }
        }
    }
}

fn read_registration(hub: &Hub, given: Option<&Given>, request: &Request) -> Registration {
    let registration = RegisterPluginRequest::decode(request.payload.clone())
        .map_err(|error| error.to_string())?;
    if let Some(Given { index, name, .. }) = given {
        return Ok(RegisterPluginRequest {
            plugin_name: name.clone(),
            plugin_idx: index.clone(),
            ..registration
        });
    }
    identity::check(
        &registration.plugin_name,
        &registration.plugin_idx,
        hub.profile.strict_plugin_names,
    )?;
    Ok(registration)
}

fn reply(registration: &Registration) -> Result<Vec<u8>, Status> {
    match registration {
        Ok(_) => Ok(Vec::new()),
        Err(why) => Err(Status::new(Code::UNKNOWN, why.clone())),
    }
}

/// Changes containers without being asked to. There is one lock over all that happens: who calls this while it is
/// being asked something waits until it is given up.
async fn answer_update(hub: &Hub, plugin: &str, request: Request) {
    let asked = match UpdateContainersRequest::decode(request.payload.clone()) {
        Ok(asked) => asked,
        Err(error) => {
            let status = Status::new(Code::INVALID_ARGUMENT, error.to_string());
            return request.reply(Err(status));
        }
    };
    let _one_at_a_time = hub.requests.lock().await;
    let mut updates = Vec::new();
    let mut failed = false;
    for update in &asked.update {
        let updated = hub.running(|running| running.update(update));
        failed |= updated.fate == UpdateFate::Failed && !update.ignore_failure;
        updates.push(updated);
    }
    hub.note(Received::UpdateContainers {
        plugin: plugin.to_owned(),
        updates,
        evictions: asked.evict.into_iter().map(|it| it.container_id).collect(),
    });
    // With the error containerd sends no list of what failed.
    request.reply(if failed {
        let message = "NRI update of some containers failed";
        Err(Status::new(Code::UNKNOWN, message.to_owned()))
    } else {
        Ok(UpdateContainersResponse::default().encode_to_vec())
    });
}
