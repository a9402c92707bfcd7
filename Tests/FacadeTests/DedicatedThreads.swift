import Dispatch

/// Runs tasks on threads of its own, so that a test does not wait for those that others keep.
final class DedicatedThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "test", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
