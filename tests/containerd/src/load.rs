//! Containers, one after another.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::pod::Pod;
use crate::spec::ContainerSpec;

/// Creates containers in a pod, whatever happens to containerd meanwhile, until it is stopped.
#[derive(Debug)]
pub struct Load {
    creating: JoinHandle<()>,
    created: watch::Receiver<usize>,
    stop: watch::Sender<bool>,
}

impl Load {
    /// Starts it.
    #[must_use]
    pub fn start(pod: &Pod) -> Self {
        let pod = pod.clone();
        let (count, created) = watch::channel(0);
        let (stop, stopped) = watch::channel(false);
        let creating = tokio::spawn(async move {
            for number in 0.. {
                if *stopped.borrow() {
                    return;
                }
                let spec = ContainerSpec::new(&format!("load-{number}"));
                if pod.create(spec).await.is_ok() {
                    count.send_modify(|count| *count += 1);
                } else {
                    // containerd is away, and asking it without a pause would keep it there.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        Self {
            creating,
            created,
            stop,
        }
    }

    /// Waits until so many more were created.
    ///
    /// # Panics
    ///
    /// When they are not.
    pub async fn created(&self, more: usize) {
        let mut created = self.created.clone();
        let enough = *created.borrow() + more;
        let reached = created.wait_for(|count| *count >= enough);
        let reached = tokio::time::timeout(Duration::from_secs(20), reached).await;
        let _ = reached
            .expect("containers are created in time")
            .expect("the load goes on until it is stopped");
    }

    /// Stops it, after the container that is being created.
    ///
    /// # Panics
    ///
    /// When creating them panicked.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.creating.await.expect("the load does not panic");
    }
}
