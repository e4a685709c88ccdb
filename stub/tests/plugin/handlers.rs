//! What reaches a handler, and what becomes of its answer.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use nri_stub::api::{self, Event, plugin, runtime};
use nri_stub::{Code, Reply, Runtime, Status, Stub};

use crate::peer::{register, start};

fn stub() -> Stub {
    Stub::new("tested", "10")
}

#[test]
fn the_events_are_those_that_have_handlers() {
    let (_running, mut peer) = start(|_| {
        stub()
            .create_container(|_, _| Ok(Default::default()))
            .raw(Event::StopContainer, |_| Reply::Answer(Ok(Vec::new())))
    });
    let (told, configured) = peer.register(&api::ConfigureRequest::default());
    assert_eq!(
        (told.plugin_name, told.plugin_idx),
        ("tested".into(), "10".into())
    );
    assert_eq!(configured.events, 1 << 3 | 1 << 9);
}

#[test]
fn a_plugin_without_handlers_is_not_told_of_everything() {
    let (_running, mut peer) = start(|_| stub());
    // 0 would mean every event.
    assert_ne!(peer.register(&api::ConfigureRequest::default()).1.events, 0);
}

#[test]
fn configure_tells_of_the_runtime_before_anything_else() {
    let (sender, told) = channel();
    let told_to = Mutex::new(sender);
    let (_running, mut peer) = start(|_| {
        stub().configure(move |runtime| {
            told_to.lock().unwrap().send(runtime.clone()).unwrap();
            Ok(())
        })
    });
    peer.register(&api::ConfigureRequest {
        config: "key: value".into(),
        runtime_name: "containerd".into(),
        runtime_version: "v2.1.9".into(),
        registration_timeout: 5000,
        request_timeout: 1000,
        nri_version: "v0.8.0".into(),
    });
    let expected = Runtime {
        name: "containerd".into(),
        version: "v2.1.9".into(),
        nri_version: "v0.8.0".into(),
        config: "key: value".into(),
        registration_timeout_ms: 5000,
        request_timeout_ms: 1000,
        prelaunched: false,
    };
    assert_eq!(told.recv().unwrap(), expected);
}

#[test]
fn an_event_that_an_older_runtime_tells_as_a_state_change_reaches_its_handler() {
    let (sender, told) = channel();
    let told_to = Mutex::new(sender);
    let stub = stub().post_start_container(move |request, _| {
        told_to.lock().unwrap().send(request).unwrap();
        Ok(Default::default())
    });
    let (_running, mut peer) = register(stub);
    let pod = Some(api::PodSandbox {
        id: "pod".into(),
        ..Default::default()
    });
    let container = Some(api::Container {
        id: "container".into(),
        ..Default::default()
    });
    for event in [Event::StartContainer, Event::PostStartContainer] {
        let change = api::StateChangeEvent {
            event: event.into(),
            pod: pod.clone(),
            container: container.clone(),
        };
        let answer = peer.call::<api::Empty>(3, plugin::STATE_CHANGE, &change);
        answer.unwrap();
    }
    assert_eq!(
        told.try_iter().collect::<Vec<_>>(),
        [api::PostStartContainerRequest { pod, container }]
    );
}

fn part(pod: &str, more: bool) -> api::SynchronizeRequest {
    let pod = api::PodSandbox {
        id: pod.into(),
        ..Default::default()
    };
    api::SynchronizeRequest {
        pods: vec![pod],
        containers: Vec::new(),
        more,
    }
}

#[test]
fn a_list_that_comes_in_parts_is_given_whole() {
    let lists = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lists);
    let stub = stub().synchronize(move |pods, _| {
        let ids = pods.into_iter().map(|pod| pod.id);
        kept.lock().unwrap().push(ids.collect::<Vec<_>>());
        Ok(Vec::new())
    });
    let (running, mut peer) = register(stub);
    let mut synchronize = |part: &api::SynchronizeRequest| {
        let answer = peer.call::<api::SynchronizeResponse>(3, plugin::SYNCHRONIZE, part);
        assert_eq!(answer.unwrap().more, part.more);
    };
    synchronize(&part("a", true));
    synchronize(&part("b", false));
    synchronize(&part("unfinished", true));
    drop(peer);
    let mut peer = running.accept();
    peer.register(&api::ConfigureRequest::default());
    let answer = peer.call::<api::SynchronizeResponse>(3, plugin::SYNCHRONIZE, &part("c", false));
    assert!(!answer.unwrap().more);
    assert_eq!(*lists.lock().unwrap(), [vec!["a", "b"], vec!["c"]]);
}

#[test]
fn a_plugin_that_takes_no_list_gives_more_back() {
    let (_running, mut peer) = register(stub());
    for more in [true, false] {
        let answer =
            peer.call::<api::SynchronizeResponse>(3, plugin::SYNCHRONIZE, &part("a", more));
        assert_eq!(answer.unwrap().more, more);
    }
}

#[test]
fn what_has_no_handler_is_unimplemented_and_a_panic_leaves_the_container_as_it_is() {
    let (_running, mut peer) = register(stub().create_container(|_, _| panic!("as tested")));
    let empty = api::Empty {};
    let answer = peer.call::<api::Empty>(3, plugin::VALIDATE_CONTAINER_ADJUSTMENT, &empty);
    assert_eq!(answer.unwrap_err().code, Code::UNIMPLEMENTED);
    let answer = peer.call::<api::CreateContainerResponse>(5, plugin::CREATE_CONTAINER, &empty);
    assert_eq!(answer, Ok(api::CreateContainerResponse::default()));
}

#[test]
fn an_error_of_a_handler_is_the_answer() {
    let refuse = Status::new(Code::UNKNOWN, "not here");
    let refused = refuse.clone();
    let (_running, mut peer) = register(stub().create_container(move |_, _| Err(refuse.clone())));
    let answer = peer.call::<api::Empty>(3, plugin::CREATE_CONTAINER, &api::Empty {});
    assert_eq!(answer, Err(refused));
}

#[test]
fn a_handler_may_have_the_runtime_update_containers_and_wait_for_it() {
    let stub = stub().create_container(|_, call| {
        let request = api::UpdateContainersRequest::default();
        let answer = call.update_containers(&request).unwrap();
        let update = answer.failed;
        Ok(api::CreateContainerResponse {
            update,
            ..Default::default()
        })
    });
    let (_running, mut peer) = register(stub);
    peer.ask(3, plugin::CREATE_CONTAINER, &api::Empty {});
    let (stream, call) = peer.called();
    assert_eq!(call.method, runtime::UPDATE_CONTAINERS);
    let failed = vec![api::ContainerUpdate {
        container_id: "gone".into(),
        ..Default::default()
    }];
    let answer = api::UpdateContainersResponse { failed };
    peer.reply(stream, &answer);
    let (_, answered) = peer.answer();
    let answered: api::CreateContainerResponse = prost::Message::decode(answered.unwrap()).unwrap();
    assert_eq!(answered.update, answer.failed);
}

#[test]
fn the_runtime_can_be_called_from_outside_of_a_handler() {
    let stub = stub();
    let updater = stub.updater();
    let (_running, mut peer) = register(stub);
    let calling = std::thread::spawn(move || updater.update_containers(&Default::default()));
    let (stream, _) = peer.called();
    peer.reply(stream, &api::UpdateContainersResponse::default());
    assert_eq!(calling.join().unwrap(), Ok(Default::default()));
}
