import NIOCore
import NIOPosix

/// Discovery by multicast DNS, without another program (DNS-SD, RFC 6763, over RFC 6762).
///
/// It works beside another responder on the machine. On Apple's mobile systems an application needs a special
/// entitlement to use multicast. Use a ``PeerDiscovery`` with the system's browser there.
public struct MulticastDiscovery: PeerDiscovery {
  /// Makes a discovery, which does nothing before `start`.
  public init() {}

  public func start(
    _ advertisement: PeerAdvertisement, report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) -> any DiscoverySession {
    MulticastSession(advertisement, TCP.group.next(), report)
  }
}

/// A discovery on its event loop.
private final class MulticastSession: DiscoverySession {
  private let loop: any EventLoop
  private let run: NIOLoopBoundBox<MulticastRun?>

  init(
    _ advertisement: PeerAdvertisement, _ loop: any EventLoop,
    _ report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) {
    self.loop = loop
    run = .makeEmptyBox(valueType: MulticastRun.self, eventLoop: loop)
    loop.execute { [run] in
      let first = MulticastRun(advertisement, loop, report)
      run.value = first
      first.scan()
    }
  }

  func stop() {
    let stopped = loop.flatSubmit { [loop, run] in
      defer { run.value = nil }
      return run.value?.stop() ?? loop.makeSucceededVoidFuture()
    }
    // A thread of an event loop must not wait; the packets are sent soon.
    if MultiThreadedEventLoopGroup.currentEventLoop == nil { _ = try? stopped.wait() }
  }
}

/// Provides the sockets, the clock and the list of interfaces for a ``Neighbourhood``; on one event loop.
private final class MulticastRun {
  /// The interval between checks of the system's interfaces.
  private static let scanInterval = Duration.seconds(2)

  private let advertisement: PeerAdvertisement
  private let loop: any EventLoop
  private let report: @Sendable (DiscoveryEvent) -> Void
  private var neighbourhood: Neighbourhood
  private var channels: [Neighbourhood.Socket: any Channel] = [:]
  private var opening: Set<Neighbourhood.Socket> = []
  private var failures: [Neighbourhood.Socket: LinkError] = [:]
  private var conditions: Set<TransportCondition>?
  private var nextScan: Scheduled<Void>?
  private var nextStep: Scheduled<Void>?
  private var isStopped = false

  init(
    _ advertisement: PeerAdvertisement, _ loop: any EventLoop,
    _ report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) {
    self.advertisement = advertisement
    self.loop = loop
    self.report = report
    neighbourhood = Neighbourhood(advertisement, day: WallClock.day) { .random(in: 0..<1) }
  }

  private var now: Duration { TransportClock.continuous.now }

  // MARK: - Interfaces

  /// Checks the interfaces now and every few seconds.
  func scan() {
    guard !isStopped else { return }
    perform(neighbourhood.update(day: WallClock.day, of: advertisement, now: now))
    perform(neighbourhood.update(NetworkInterface.scan(), now: now))
    let wanted = neighbourhood.sockets
    for (socket, channel) in channels where !wanted.contains(socket) {
      channels[socket] = nil
      channel.close(promise: nil)
      perform(neighbourhood.closed(socket))
    }
    failures = failures.filter { wanted.contains($0.key) }
    for socket in wanted where channels[socket] == nil && !opening.contains(socket) { open(socket) }
    tellConditions()
    nextScan = loop.assumeIsolated().scheduleTask(in: TimeAmount(Self.scanInterval)) { self.scan() }
  }

  private func open(_ socket: Neighbourhood.Socket) {
    opening.insert(socket)
    MulticastSocket.open(socket, on: loop) { [weak self] bytes, source, interface in
      guard let self, !isStopped else { return }
      perform(neighbourhood.receive(bytes, from: source, on: interface, now: now))
    }.assumeIsolated().whenComplete { [self] result in
      opening.remove(socket)
      switch result {
      case .success(let channel):
        // Meanwhile the interface may have disappeared, or the discovery may have stopped.
        guard !isStopped, neighbourhood.sockets.contains(socket) else { return channel.close(promise: nil) }
        failures[socket] = nil
        channels[socket] = channel
        channel.closeFuture.assumeIsolated().whenComplete { [weak self] _ in self?.lost(channel, socket) }
        perform(neighbourhood.opened(socket, now: now))
      case .failure(let error):
        failures[socket] = LinkError(tcp: error, "Neighbours cannot be found on this interface")
      }
      tellConditions()
    }
  }

  /// Records that a socket broke.
  ///
  /// The next scan opens it again.
  private func lost(_ channel: any Channel, _ socket: Neighbourhood.Socket) {
    guard channels[socket] === channel else { return }
    channels[socket] = nil
    perform(neighbourhood.closed(socket))
  }

  // MARK: - Steps

  private func perform(_ steps: [Neighbourhood.Step]) {
    for step in steps {
      switch step {
      case .send(let packet): send(packet)
      case .report(let event): report(event)
      }
    }
    nextStep?.cancel()
    guard !isStopped, let next = neighbourhood.next else { return }
    let delay = max(next - now, .zero)
    nextStep = loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
      self.perform(self.neighbourhood.takeDue(now: self.now))
    }
  }

  private func send(_ packet: Neighbourhood.Packet) {
    guard let channel = channels[packet.socket], channel.isWritable,
      let address = try? MulticastSocket.address(of: packet.receiver, packet.socket)
    else { return }
    let envelope = AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: packet.bytes))
    channel.writeAndFlush(envelope, promise: nil)
  }

  private func tellConditions() {
    guard opening.isEmpty, !isStopped else { return }
    var current: Set<TransportCondition> = []
    if neighbourhood.sockets.isEmpty {
      current.insert(.noMulticast)
    } else if channels.isEmpty, let failure = failures.values.first {
      current.insert(
        failure.code == .portInUse
          ? .portTaken(Int(DatagramSource.multicastPort)) : .discoveryRefused(failure.message))
    }
    guard current != conditions else { return }
    conditions = current
    report(.conditions(current))
  }

  /// Sends goodbyes and closes all sockets.
  func stop() -> EventLoopFuture<Void> {
    perform(neighbourhood.goodbyes)
    isStopped = true
    nextScan?.cancel()
    nextStep?.cancel()
    let closed = channels.values.map { $0.close().recover { _ in } }
    channels = [:]
    return EventLoopFuture.andAllComplete(closed, on: loop)
  }
}
