import NIOConcurrencyHelpers

@testable import Transports

/// A link whose session does nothing while it is held, like one whose threads have much else to do.
final class HeldLink: Link, DrivenLink {
  private let link: any Link
  private let pump: LinkPump
  private let held: HeldExecutor

  init(_ link: any Link) {
    self.link = link
    pump = LinkPump(link)
    held = HeldExecutor(pump.executor)
  }

  /// Holds the session from the next step on, when the one that runs is over.
  func hold() async { await held.hold() }

  func release() { held.release() }

  var endpoint: LinkEndpoint { link.endpoint }
  var statistics: LinkStatistics { link.statistics }
  var executor: any SessionExecutor { held }
  var isLocal: Bool { pump.isLocal }

  func receive() async throws(LinkError) -> [UInt8]? { try await link.receive() }
  func send(_ pieces: [[UInt8]]) async throws(LinkError) { try await link.send(pieces) }
  func finish() async throws(LinkError) { try await link.finish() }

  func attach(_ user: any LinkUser) { pump.attach(user) }
  func write(_ pieces: [[UInt8]]) { pump.write(pieces) }
  func resumeReading() { pump.resumeReading() }
  func finishWriting() { pump.finishWriting() }
  func close(_ reason: LinkError) { pump.close(reason) }
}

/// Runs nothing while it is held, and then what was handed over meanwhile, in order.
private final class HeldExecutor: SessionExecutor {
  private let inner: any SessionExecutor
  /// What waits; `nil` while it is not held.
  private let waiting = NIOLockedValueBox<[@Sendable () -> Void]?>(nil)

  init(_ inner: any SessionExecutor) { self.inner = inner }

  func execute(_ body: @escaping @Sendable () -> Void) {
    waiting.withLockedValue { waiting in
      if waiting == nil { inner.execute(body) } else { waiting?.append(body) }
    }
  }

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
