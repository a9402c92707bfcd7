import Links
import Synchronization
import TestKit
import Testing

@Suite struct MemoryLinkTests {
  @Test func `delivers all bytes in order, however they were cut`() async throws {
    let (left, right) = MemoryLink.pair()
    async let sending: Void = {
      for start in stride(from: 0, to: 1_000_000, by: 997) {
        try await left.send([pattern(min(997, 1_000_000 - start), from: start)])
      }
      try await left.finish()
    }()
    let bytes = try await receive(.max, from: right)
    try await sending
    #expect(bytes == pattern(1_000_000))
    #expect(left.statistics.sentBytes == 1_000_000)
    #expect(right.statistics.receivedBytes == 1_000_000)
  }

  @Test func `carries both directions at once`() async throws {
    let (left, right) = MemoryLink.pair()
    try await left.send([[1, 2], [], [3]])
    try await right.send([[9]])
    #expect(try await right.receive() == [1, 2, 3])
    #expect(try await left.receive() == [9])
  }

  @Test func `a sender waits for a reader that lags, with bounded memory`() async throws {
    let (left, right) = MemoryLink.pair()
    let accepted = Mutex(0)
    let sender = Task {
      for _ in 0..<100 {
        try await left.send([pattern(65_536)])
        accepted.withLock { $0 += 1 }
      }
    }
    // The sender runs until it must wait; what it was let to send does not grow from then on.
    while left.statistics.sentBytes < 4 * 65_536 { await pause() }
    for _ in 0..<1_000 { await Task.yield() }
    #expect(accepted.withLock { $0 } == 3)
    #expect(left.statistics.sentBytes == 4 * 65_536)
    let bytes = try await receive(100 * 65_536, from: right)
    try await sender.value
    #expect(bytes.count == 100 * 65_536)
  }

  @Test func `an end in order lets the other direction go on`() async throws {
    let (left, right) = MemoryLink.pair()
    try await left.send([[1]])
    async let finished: Void = left.finish()
    #expect(try await right.receive() == [1])
    try await finished
    #expect(try await right.receive() == nil)
    try await right.send([[2]])
    #expect(try await left.receive() == [2])
    #expect(await linkError { try await left.send([[3]]) }?.code == .closed)
  }

  @Test func `a closed end wakes everyone who waits, at both ends`() async throws {
    let (left, right) = MemoryLink.pair()
    let receiver = Task { await linkError { _ = try await left.receive() } }
    let peer = Task { await linkError { _ = try await right.receive() } }
    await Task.yield()
    left.close(LinkError(.closed, "done"))
    #expect(await receiver.value?.code == .closed)
    #expect(await peer.value?.code == .disconnected)
    #expect(await linkError { try await right.send([[1]]) }?.code == .disconnected)
  }

  @Test func `closing ends a wait for a peer that does not read`() async throws {
    let (left, right) = MemoryLink.pair()
    try await left.send([[1]])
    let finishing = Task { await linkError { try await left.finish() } }
    for _ in 0..<100 { await Task.yield() }
    left.close(LinkError(.closed, "done"))
    #expect(await finishing.value != nil)
    #expect(try await right.receive() == [1])
    #expect(await linkError { _ = try await right.receive() }?.code == .disconnected)
  }

  @Test func `a cancelled wait ends at once`() async throws {
    let (left, right) = MemoryLink.pair()
    let receiver = Task { await linkError { _ = try await right.receive() } }
    let sender = Task { await linkError { while true { try await left.send([pattern(100_000)]) } } }
    while left.statistics.sentBytes == 0 { await pause() }
    receiver.cancel()
    sender.cancel()
    _ = await receiver.value
    #expect(await sender.value?.code == .cancelled)
  }
}
