import Logging
import Synchronization

/// A query that is being observed; keep it as long as its handler is to be called.
///
/// If it is released without `stop()` or `cancel()`, it is stopped too, and a warning is logged.
public final class DunlinLiveQuery: Sendable {
  private let observation: QueryObservation?
  let what: String
  private let reporter: Reporter

  init(_ observation: QueryObservation?, what: String, _ reporter: Reporter) {
    self.observation = observation
    self.what = what
    self.reporter = reporter
  }

  deinit {
    if observation?.cancel() == true {
      reporter.logger.warning("The live query '\(what)' was let go of without cancel(); it is stopped")
    }
  }

  /// Whether the handler is no longer called.
  public var isCancelled: Bool { observation?.isOver ?? true }

  /// Stops calling the handler; a call that is in progress ends by itself.
  ///
  /// Calling this again has no effect.
  public func cancel() { observation?.cancel() }

  /// Stops calling the handler: the same as `cancel()`.
  public func stop() { cancel() }
}

/// A query that is being observed, registered with DQL.
public typealias DunlinStoreObserver = DunlinLiveQuery
