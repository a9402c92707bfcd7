import Logging
import Synchronization

/// A query that is being observed; keep it as long as its handler is to be called.
///
/// One that is let go of without `stop()` or `cancel()` is stopped all the same, with a logged warning.
public final class DunlinLiveQuery: Sendable {
  private let observation: QueryObservation?
  private let what: String
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

  /// Whether the handler is not called any more.
  public var isCancelled: Bool { observation?.isOver ?? true }

  /// Stops calling the handler; a call that is under way ends by itself.
  ///
  /// Calling it again has no effect.
  public func cancel() { observation?.cancel() }

  /// Stops calling the handler: the same as `cancel()`.
  public func stop() { cancel() }
}

/// A query that is being observed, registered with DQL.
public typealias DunlinStoreObserver = DunlinLiveQuery
