import Links
import Testing

/// Emulated links on a clock that skips: the times are exact, and nobody waits for them.
@Suite struct LinkProfileTests {
  private func transfer(
    _ byteCount: Int, _ profile: LinkProfile
  ) async throws -> (bytes: [UInt8], time: Duration) {
    let clock = TransportClock(SkippingClock())
    var profile = profile
    // Everything is queued before the clock moves, so that the times do not depend on the test's own threads.
    profile.queueBytes = byteCount + 1
    let (left, right) = MemoryLink.pair(profile: profile, clock: clock)
    try await left.send(
      stride(from: 0, to: byteCount, by: 1_000).map { pattern(min(1_000, byteCount - $0), from: $0) })
    let bytes = try await receive(byteCount, from: right)
    return (bytes, clock.now)
  }

  @Test func `a constrained link carries 20 KB in a second`() async throws {
    let (bytes, time) = try await transfer(250_000, .constrained)
    #expect(bytes == pattern(250_000))
    // 12.5 s on the line and 30 ms of way.
    #expect(time == .milliseconds(12_530))
  }

  @Test func `a byte needs the latency and its time on the line`() async throws {
    var profile = LinkProfile()
    profile.bytesPerSecond = 1_000
    profile.latency = .milliseconds(40)
    let (_, time) = try await transfer(1, profile)
    #expect(time == .milliseconds(41))
  }

  @Test func `losses cost time and never data, the same for the same seed`() async throws {
    var profile = LinkProfile.constrained
    profile.loss = 0.05
    profile.seed = 7
    let first = try await transfer(50_000, profile)
    let second = try await transfer(50_000, profile)
    profile.seed = 8
    let other = try await transfer(50_000, profile)
    #expect(first.bytes == pattern(50_000))
    #expect(other.bytes == pattern(50_000))
    #expect(first.time > .milliseconds(2_600))
    #expect(first.time == second.time)
    #expect(first.time != other.time)
  }

  @Test(arguments: [1, 184, 185, 186, 5_000])
  func `a link that breaks delivers the bytes before the break and then an error at both ends`(
    limit: Int
  ) async throws {
    var profile = LinkProfile.constrained
    profile.disconnectAfterBytes = limit
    let (left, right) = MemoryLink.pair(profile: profile, clock: TransportClock(SkippingClock()))
    let sender = Task { await linkError { while true { try await left.send([pattern(500)]) } } }
    var count = 0
    let failure = await linkError {
      while let bytes = try await right.receive() { count += bytes.count }
    }
    #expect(count == limit)
    #expect(failure?.code == .disconnected)
    #expect(await sender.value?.code == .disconnected)
    #expect(await linkError { _ = try await left.receive() }?.code == .disconnected)
    #expect(await linkError { try await right.send([[1]]) }?.code == .disconnected)
  }

  @Test func `a throttled link slows another link down and passes its end on`() async throws {
    let clock = TransportClock(SkippingClock())
    let (left, right) = MemoryLink.pair()
    let slow = ThrottledLink(left, profile: .constrained, clock: clock)
    async let sending: Void = {
      for start in stride(from: 0, to: 20_000, by: 1_000) {
        try await slow.send([pattern(1_000, from: start)])
      }
      try await slow.finish()
    }()
    let bytes = try await receive(.max, from: right)
    try await sending
    #expect(bytes == pattern(20_000))
    #expect(clock.now >= .milliseconds(1_030), "\(clock.now)")
  }

  @Test func `a throttled link slows down what comes in, and ends with the link inside`() async throws {
    let clock = TransportClock(SkippingClock())
    let (left, right) = MemoryLink.pair()
    let slow = ThrottledLink(left, profile: .constrained, clock: clock)
    async let sending: Void = {
      try await right.send([pattern(10_000)])
      right.close(LinkError(.closed, "done"))
    }()
    #expect(try await receive(10_000, from: slow) == pattern(10_000))
    try await sending
    #expect(clock.now >= .milliseconds(530), "\(clock.now)")
    #expect(await linkError { _ = try await slow.receive() }?.code == .disconnected)
  }

  @Test func `closing a throttled link closes the link inside`() async throws {
    let (left, right) = MemoryLink.pair()
    let slow = ThrottledLink(left, profile: .constrained, clock: TransportClock(SkippingClock()))
    slow.close(LinkError(.closed, "done"))
    #expect(await linkError { _ = try await slow.receive() }?.code == .closed)
    #expect(await linkError { _ = try await right.receive() }?.code == .disconnected)
  }
}
