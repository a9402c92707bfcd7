import NIOConcurrencyHelpers

/// A link between two peers in one process, plain or with the properties of an emulated line.
public final class MemoryLink: AwaitedLink {
  public let endpoint: LinkEndpoint
  private let outbound: BytePipe
  private let inbound: BytePipe
  private let pump = LinkPump()
  private let state = NIOLockedValueBox(State())

  private struct State {
    var statistics = LinkStatistics()
    /// Why this end was closed, if it was closed on this side.
    var closed: LinkError?
  }

  private init(_ endpoint: LinkEndpoint, outbound: BytePipe, inbound: BytePipe) {
    self.endpoint = endpoint
    self.outbound = outbound
    self.inbound = inbound
  }

  /// Makes two ends that are connected to each other.
  ///
  /// - Parameters:
  ///   - profile: The emulated line, the same in both directions; `nil` delivers at once.
  ///   - clock: The clock of the emulated line.
  ///   - names: The names of the first end and the second end.
  /// - Returns: The first end and the second.
  public static func pair(
    profile: LinkProfile? = nil, clock: TransportClock = .continuous,
    names: (String, String) = ("left", "right")
  ) -> (MemoryLink, MemoryLink) {
    let bound = profile?.queueBytes ?? 256 << 10
    let there = BytePipe(bound: bound, schedule: profile.map { LinkSchedule($0, direction: 0) }, clock: clock)
    let back = BytePipe(bound: bound, schedule: profile.map { LinkSchedule($0, direction: 1) }, clock: clock)
    return (
      MemoryLink(LinkEndpoint(kind: "memory", address: names.1), outbound: there, inbound: back),
      MemoryLink(LinkEndpoint(kind: "memory", address: names.0), outbound: back, inbound: there)
    )
  }

  public var statistics: LinkStatistics { state.withLockedValue { $0.statistics } }

  public func receive() async throws(LinkError) -> [UInt8]? {
    do {
      let bytes = try await inbound.read()
      state.withLockedValue { $0.statistics.receivedBytes += UInt64(bytes?.count ?? 0) }
      return bytes
    } catch {
      throw spread(error)
    }
  }

  public func send(_ pieces: [[UInt8]]) async throws(LinkError) {
    do {
      let count = pieces.reduce(0) { $0 + $1.count }
      state.withLockedValue { $0.statistics.sentBytes += UInt64(count) }
      try await outbound.write(pieces)
    } catch {
      throw spread(error)
    }
  }

  public func finish() async throws(LinkError) {
    outbound.finish()
    try await outbound.waitUntilDrained()
  }

  public func close(_ reason: LinkError) {
    let first = state.withLockedValue { state in
      if state.closed != nil { return false }
      state.closed = reason
      return true
    }
    guard first else { return }
    defer { pump.cancel() }
    let gone = LinkError(.disconnected, "The link to \(endpoint.address) was closed")
    inbound.fail(gone)
    // The peer still reads what has arrived before it finds the link gone.
    outbound.finish(gone, leaving: true)
  }

  /// The error that this end reports for `error`; a line that broke in one direction is broken in the other.
  private func spread(_ error: LinkError) -> LinkError {
    if let closed = state.withLockedValue({ $0.closed }) { return closed }
    if error.code == .disconnected {
      outbound.finish(error)
      inbound.finish(error)
    }
    return error
  }
}

extension MemoryLink {
  public var executor: any LinkExecutor { pump.executor }

  public func attach(_ user: any LinkUser) { pump.attach(user, to: self) }

  public func write(_ pieces: [[UInt8]]) { pump.write(pieces) }

  public func resumeReading() { pump.resumeReading() }

  public func finishWriting() { pump.finishWriting() }
}
