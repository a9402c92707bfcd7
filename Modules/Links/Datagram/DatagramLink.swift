import NIOConcurrencyHelpers
import NIOCore

/// A link over a radio with small packets.
///
/// It numbers, acknowledges and resends packets, and grants credit.
///
/// Both ends have one, over the two ends of one channel. It is meant for one hop: a lost packet does not slow
/// it down, only a round trip that grows does. `Documentation/Links.md` has the format and its overhead.
///
/// It does nothing before a user is attached. A link that is over repeats its close for at most the options'
/// `linger`, and then closes the radio.
public final class DatagramLink: Link {
  /// The number of packets waiting for the link's executor above which more are dropped.
  private static let waitingPackets = 1_024

  /// Input from other threads.
  private struct Inbox {
    var pieces: [[UInt8]] = []
    var pieceBytes = 0
    var isFinishing = false
    var closing: LinkError?
    var packets: [[UInt8]] = []
    var isRadioReady = false
    var channelEnd: String?
    var statistics = LinkStatistics()
    /// Whether the executor is going to process the inbox.
    var isWoken = false
  }

  /// State that is used on the executor only.
  private struct Work {
    var stream: DatagramStream?
    var user: (any LinkUser)?
    var told: Set<LinkDirection> = []
    /// A packet that the radio did not accept.
    var refused: [UInt8]?
    var isRadioOpen = true
    /// When the radio is closed even if it has not accepted the last packet.
    var closeBy: Duration?
    var alarm: (due: Duration, task: Task<Void, Never>)?
    var isAtWork = false
    var mustGoOn = false
  }

  public let endpoint: LinkEndpoint
  private let radio: any DatagramRadio
  private let options: DatagramOptions
  private let clock: TransportClock
  private let loop: LoopExecutor
  private let inbox = NIOLockedValueBox(Inbox())
  private let work: NIOLoopBoundBox<Work>

  /// Makes a link over a radio's channel that nobody else uses.
  ///
  /// - Parameters:
  ///   - radio: The channel to the peer.
  ///   - options: Windows and times.
  ///   - clock: The clock of all timers.
  public init(
    over radio: any DatagramRadio, options: DatagramOptions = DatagramOptions(),
    clock: TransportClock = .continuous
  ) {
    self.radio = radio
    self.options = options
    self.clock = clock
    endpoint = radio.endpoint
    loop = LoopExecutor.next()
    work = NIOLoopBoundBox.makeBoxSendingValue(Work(), eventLoop: loop.loop)
  }

  deinit { radio.close() }

  // MARK: - For its user

  public var executor: any LinkExecutor { loop }

  public var statistics: LinkStatistics { inbox.withLockedValue { $0.statistics } }

  public func attach(_ user: any LinkUser) {
    loop.run { [self] in
      work.value.user = user
      work.value.stream = DatagramStream(
        packetBytes: radio.maximumPacketBytes, tag: .random(in: 1 ... .max), name: endpoint.address,
        options: options, at: clock.now)
      if work.value.isRadioOpen { radio.attach(self) }
      step()
    }
  }

  public func write(_ pieces: [[UInt8]]) {
    let count = pieces.reduce(0) { $0 + $1.count }
    guard count > 0 else { return }
    post { inbox in
      guard !inbox.isFinishing, inbox.closing == nil else { return }
      inbox.pieces += pieces
      inbox.pieceBytes += count
      inbox.statistics.sentBytes += UInt64(count)
    }
  }

  public func resumeReading() { post { _ in } }

  public func finishWriting() { post { $0.isFinishing = true } }

  public func close(_ reason: LinkError) { post { $0.closing = $0.closing ?? reason } }

  // MARK: - The work

  /// Changes the inbox and wakes the executor.
  private func post(_ change: (inout Inbox) -> Void) {
    let mustWake = inbox.withLockedValue { inbox in
      change(&inbox)
      defer { inbox.isWoken = true }
      return !inbox.isWoken
    }
    if mustWake { loop.run { self.step() } }
  }

  /// Does all pending work, on the executor.
  ///
  /// A call from within a call of the user or of the radio leaves the work to the step that is running.
  private func step() {
    guard !work.value.isAtWork else {
      work.value.mustGoOn = true
      return
    }
    work.value.isAtWork = true
    repeat {
      work.value.mustGoOn = false
      takeInbox()
      deliver()
      transmit()
      tellEnds()
    } while work.value.mustGoOn
    work.value.isAtWork = false
    setAlarm()
  }

  private func takeInbox() {
    let new = inbox.withLockedValue { inbox in
      let new = inbox
      inbox.isWoken = false
      guard work.value.stream != nil else { return new }
      (inbox.pieces, inbox.pieceBytes, inbox.packets) = ([], 0, [])
      (inbox.isRadioReady, inbox.channelEnd) = (false, nil)
      return new
    }
    if work.value.stream == nil, new.closing != nil { return closeRadio() }
    let now = clock.now
    if new.isRadioReady { transmitRefused() }
    for packet in new.packets { work.value.stream?.receive(packet, at: now) }
    if let reason = new.channelEnd { work.value.stream?.channelEnded(reason, at: now) }
    if let closing = new.closing { work.value.stream?.close(closing, at: now) }
    work.value.stream?.write(new.pieces)
    if new.isFinishing { work.value.stream?.finish() }
    if let tick = work.value.stream?.nextTick, tick <= now { work.value.stream?.tick(at: now) }
  }

  /// Delivers what has arrived, while there is room and not too much waits to be sent.
  private func deliver() {
    guard let user = work.value.user else { return }
    while work.value.stream?.hasReceived == true {
      guard user.hasRoom, unsentBytes < LinkLimits.unsentBytes else {
        // Remaining bytes of a broken link would keep its user from being called with the end.
        work.value.stream?.dropIfBroken()
        return
      }
      guard let bytes = work.value.stream?.takeReceived(at: clock.now) else { return }
      inbox.withLockedValue { $0.statistics.receivedBytes += UInt64(bytes.count) }
      user.received(bytes)
    }
  }

  private var unsentBytes: Int {
    inbox.withLockedValue { $0.pieceBytes } + (work.value.stream?.waitingBytes ?? 0)
  }

  private func transmitRefused() {
    guard let packet = work.value.refused else { return }
    work.value.refused = radio.send(packet) ? nil : packet
  }

  private func transmit() {
    guard work.value.isRadioOpen else { return }
    let before = unsentBytes
    while work.value.refused == nil, let packet = work.value.stream?.nextPacket(at: clock.now) {
      if !radio.send(packet) { work.value.refused = packet }
    }
    // Bytes that were held back because too much waited to be sent may be delivered now.
    if before >= LinkLimits.unsentBytes, unsentBytes < before { work.value.mustGoOn = true }
    guard work.value.stream?.isQuiet == true else { return }
    let closeBy = work.value.closeBy ?? clock.now + options.linger
    work.value.closeBy = closeBy
    if work.value.refused == nil || closeBy <= clock.now { closeRadio() }
  }

  private func closeRadio() {
    guard work.value.isRadioOpen else { return }
    work.value.isRadioOpen = false
    work.value.refused = nil
    radio.close()
  }

  private func tellEnds() {
    for direction in [LinkDirection.outbound, .inbound] {
      guard let error = work.value.stream?.ends[direction], work.value.told.insert(direction).inserted
      else { continue }
      work.value.user?.ended(direction, error)
    }
    if work.value.told.count == 2 { work.value.user = nil }
  }

  /// Schedules the next step; the link is retained until then.
  private func setAlarm() {
    let due: [Duration?] =
      work.value.isRadioOpen
      ? [
        work.value.stream?.nextTick, work.value.refused == nil ? work.value.stream?.nextSend : nil,
        work.value.closeBy,
      ] : []
    guard let next = due.compactMap(\.self).min() else {
      work.value.alarm?.task.cancel()
      work.value.alarm = nil
      return
    }
    // An alarm that rings too early sets the next.
    if let alarm = work.value.alarm, alarm.due <= next { return }
    work.value.alarm?.task.cancel()
    let task = Task { [clock, loop] in
      guard (try? await clock.sleep(until: next)) != nil else { return }
      loop.execute {
        if self.work.value.alarm?.due == next { self.work.value.alarm = nil }
        self.step()
      }
    }
    work.value.alarm = (next, task)
  }
}

extension DatagramLink: DatagramReceiver {
  public func received(_ packet: [UInt8]) {
    post { if $0.packets.count < Self.waitingPackets { $0.packets.append(packet) } }
  }

  public func ready() { post { $0.isRadioReady = true } }

  public func ended(_ reason: String) { post { $0.channelEnd = $0.channelEnd ?? reason } }
}
