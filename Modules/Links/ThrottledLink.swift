/// Another link, slowed down to the properties of an emulated line in both directions.
///
/// It is used at one end only; the other end sees a slow peer.
public final class ThrottledLink: AwaitedLink {
  public var endpoint: LinkEndpoint { link.endpoint }
  public var statistics: LinkStatistics { link.statistics }

  private let link: any AwaitedLink
  private let outbound: BytePipe
  private let inbound: BytePipe
  private let pumps: [Task<Void, Never>]
  private let pump = LinkPump()

  /// Slows `link` down.
  ///
  /// From then on only the new link may be used.
  public init(_ link: any AwaitedLink, profile: LinkProfile, clock: TransportClock = .continuous) {
    let outbound = BytePipe(
      bound: profile.queueBytes, schedule: LinkSchedule(profile, direction: 0), clock: clock)
    let inbound = BytePipe(
      bound: profile.queueBytes, schedule: LinkSchedule(profile, direction: 1), clock: clock)
    self.link = link
    self.outbound = outbound
    self.inbound = inbound
    // The pumps hold the pipes and the inner link, never this object, whose end cancels them.
    pumps = [
      Task { await Self.pumpOut(from: outbound, to: link, failing: inbound) },
      Task { await Self.pumpIn(from: link, to: inbound, failing: outbound) },
    ]
  }

  deinit {
    for pump in pumps { pump.cancel() }
    link.close(LinkError(.closed, "The link was let go"))
  }

  public func admitted() { link.admitted() }

  public func receive() async throws(LinkError) -> [UInt8]? { try await inbound.read() }

  public func send(_ pieces: [[UInt8]]) async throws(LinkError) { try await outbound.write(pieces) }

  public func finish() async throws(LinkError) {
    outbound.finish()
    try await outbound.waitUntilDrained()
    // The pump may still hold the last piece; the inner link ends after that piece.
    await withTaskCancellationHandler {
      await pumps[0].value
    } onCancel: {
      close(.cancelled)
    }
  }

  public func close(_ reason: LinkError) {
    for pump in pumps { pump.cancel() }
    pump.cancel()
    outbound.fail(reason)
    inbound.fail(reason)
    link.close(reason)
  }

  private static func pumpOut(from pipe: BytePipe, to link: any AwaitedLink, failing other: BytePipe) async {
    do {
      while let bytes = try await pipe.read() { try await link.send([bytes]) }
      try await link.finish()
    } catch {
      pipe.fail(error)
      other.finish(error)
      link.close(error)
    }
  }

  private static func pumpIn(from link: any AwaitedLink, to pipe: BytePipe, failing other: BytePipe) async {
    do {
      while let bytes = try await link.receive() { try await pipe.write([bytes]) }
      pipe.finish()
    } catch {
      // An emulated break ends the pipe itself; the peer must see it too.
      pipe.finish(error)
      other.fail(error)
      link.close(error)
    }
  }
}

extension ThrottledLink {
  public var executor: any LinkExecutor { pump.executor }

  public func attach(_ user: any LinkUser) { pump.attach(user, to: self) }

  public func write(_ pieces: [[UInt8]]) { pump.write(pieces) }

  public func resumeReading() { pump.resumeReading() }

  public func finishWriting() { pump.finishWriting() }
}
