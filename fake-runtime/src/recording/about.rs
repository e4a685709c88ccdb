//! Which pod and which container a request is about.

use nri_proto::api::{
    Container, CreateContainerRequest, PodSandbox, PostCreateContainerRequest,
    PostStartContainerRequest, PostUpdateContainerRequest, PostUpdatePodSandboxRequest,
    RemoveContainerRequest, RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest,
    StateChangeEvent, StopContainerRequest, StopPodSandboxRequest, UpdateContainerRequest,
    UpdatePodSandboxRequest, ValidateContainerAdjustmentRequest,
};

/// A request that is about a pod, and perhaps about one of its containers.
pub(super) trait AboutPod {
    fn about(&mut self) -> (Option<&mut PodSandbox>, Option<&mut Container>);
}

macro_rules! about_pod {
    ($($request:ty),*) => {$(
        impl AboutPod for $request {
            fn about(&mut self) -> (Option<&mut PodSandbox>, Option<&mut Container>) {
                (self.pod.as_mut(), None)
            }
        }
    )*};
}

macro_rules! about_container {
    ($($request:ty),*) => {$(
        impl AboutPod for $request {
            fn about(&mut self) -> (Option<&mut PodSandbox>, Option<&mut Container>) {
                (self.pod.as_mut(), self.container.as_mut())
            }
        }
    )*};
}

about_pod!(
    RunPodSandboxRequest,
    UpdatePodSandboxRequest,
    PostUpdatePodSandboxRequest,
    StopPodSandboxRequest,
    RemovePodSandboxRequest
);

about_container!(
    CreateContainerRequest,
    PostCreateContainerRequest,
    StartContainerRequest,
    PostStartContainerRequest,
    UpdateContainerRequest,
    PostUpdateContainerRequest,
    StopContainerRequest,
    RemoveContainerRequest,
    StateChangeEvent,
    ValidateContainerAdjustmentRequest
);
