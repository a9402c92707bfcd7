import NIOConcurrencyHelpers

@testable import Links

/// A link whose session does nothing while it is held, like one whose threads have much else to do.
final class HeldLink: Link {
  private let link: any Link
  private let held: HeldExecutor

  init(_ link: any Link) {
    self.link = link
    held = HeldExecutor(link.executor)
  }

  /// Holds the session from the next step on, when the one that runs is over.
  func hold() async { await held.hold() }

  func release() { held.release() }

  var endpoint: LinkEndpoint { link.endpoint }
  var statistics: LinkStatistics { link.statistics }
  var executor: any LinkExecutor { held }
  var isLocal: Bool { link.isLocal }

  func attach(_ user: any LinkUser) { link.attach(user) }
  func write(_ pieces: [[UInt8]]) { link.write(pieces) }
  func resumeReading() { link.resumeReading() }
  func finishWriting() { link.finishWriting() }
  func close(_ reason: LinkError) { link.close(reason) }
}

/// Runs nothing while it is held, and then what was handed over meanwhile, in order.
private final class HeldExecutor: LinkExecutor {
  private let inner: any LinkExecutor
  /// What waits; `nil` while it is not held.
  private let waiting = NIOLockedValueBox<[@Sendable () -> Void]?>(nil)

  init(_ inner: any LinkExecutor) { self.inner = inner }

  func execute(_ body: @escaping @Sendable () -> Void) {
    waiting.withLockedValue { waiting in
      if waiting == nil { inner.execute(body) } else { waiting?.append(body) }
    }
  }

  var isCurrent: Bool { waiting.withLockedValue { $0 == nil } && inner.isCurrent }

  func hold() async {
    waiting.withLockedValue { $0 = [] }
    await withCheckedContinuation { waiter in inner.execute { waiter.resume() } }
  }

  func release() {
    waiting.withLockedValue { waiting in
      for body in waiting ?? [] { inner.execute(body) }
      waiting = nil
    }
  }
}
