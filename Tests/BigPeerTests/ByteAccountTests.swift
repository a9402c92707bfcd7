#if Server
  import BigPeer
  import Foundation
  import TestKit
  import Testing

  @Suite struct ByteAccountTests {
    private struct Ended: Error {}

    /// Waits until so many requests wait for room.
    private func areWaiting(_ count: Int, at account: ByteAccount) async throws -> Bool {
      for _ in 0..<1_000 {
        if account.waiting == count { return true }
        try await Task.sleep(for: .milliseconds(5))
      }
      return false
    }

    @Test func `bytes are bounded for each key and in all`() {
      let account = ByteAccount(limit: 100, limitByKey: 60)
      #expect(account.tryToReserve(60, for: "a"))
      #expect(!account.tryToReserve(1, for: "a"))
      #expect(account.tryToReserve(40, for: "b"))
      #expect(!account.tryToReserve(1, for: "c"))
      #expect(account.bytes == 100)
      account.release(10, for: "a")
      #expect(!account.tryToReserve(11, for: "b"))
      #expect(account.tryToReserve(10, for: "b"))
      account.release(50, for: "a")
      account.release(50, for: "b")
      #expect(account.bytes == 0)
      #expect(ByteAccount(limit: 10, limitByKey: 60).limitByKey == 10)
    }

    @Test func `those of a key get room in their order, and other keys do not wait for them`() async throws {
      let account = ByteAccount(limit: 100, limitByKey: 50)
      #expect(account.tryToReserve(40, for: "a"))
      async let large = account.reserve(50, for: "a", within: .seconds(60))
      #expect(try await areWaiting(1, at: account))
      async let small = account.reserve(10, for: "a", within: .seconds(60))
      #expect(try await areWaiting(2, at: account))
      // There would be room, but one of the key waits already.
      #expect(!account.tryToReserve(1, for: "a"))
      #expect(account.tryToReserve(50, for: "b"))
      account.release(40, for: "a")
      let isLargeThere = await large
      #expect(isLargeThere)
      #expect(account.bytes == 100)
      account.release(50, for: "a")
      let isSmallThere = await small
      #expect(isSmallThere)
      #expect(account.bytes == 60)
      #expect(account.waiting == 0)
    }

    @Test func `when all hold as much as they may, the one who asked first is the next`() async throws {
      let account = ByteAccount(limit: 100, limitByKey: 60)
      #expect(account.tryToReserve(60, for: "a"))
      #expect(account.tryToReserve(20, for: "b"))
      async let large = account.reserve(50, for: "c", within: .seconds(60))
      #expect(try await areWaiting(1, at: account))
      #expect(!account.tryToReserve(20, for: "d"))
      account.release(20, for: "b")
      #expect(account.waiting == 1)
      account.release(60, for: "a")
      let isThere = await large
      #expect(isThere)
      #expect(account.tryToReserve(20, for: "d"))
    }

    @Test func `a wait ends with its time, or when it is cancelled, and leaves nothing reserved`()
      async throws
    {
      let account = ByteAccount(limit: 10, limitByKey: 10)
      #expect(account.tryToReserve(10, for: "a"))
      let isThere = await account.reserve(1, for: "a", within: .milliseconds(20))
      #expect(!isThere)
      let task = Task { await account.reserve(1, for: "a", within: .seconds(60)) }
      #expect(try await areWaiting(1, at: account))
      task.cancel()
      let isThereLater = await task.value
      #expect(!isThereLater)
      #expect(account.waiting == 0)
      account.release(10, for: "a")
      #expect(account.bytes == 0)
    }

    @Test func `a thread waits until there is room, or until it has to end`() async throws {
      let account = ByteAccount(limit: 10, limitByKey: 10)
      #expect(account.tryToReserve(10, for: "a"))
      async let waiting: Void = offTasks { account.reserve(5, for: "a") {} }
      #expect(try await areWaiting(1, at: account))
      account.release(10, for: "a")
      try await waiting
      #expect(account.bytes == 5)
      await #expect(throws: Ended.self) {
        try await offTasks { try account.reserve(6, for: "a") { () throws(Ended) in throw Ended() } }
      }
      #expect(account.waiting == 0)
      #expect(account.bytes == 5)
    }
  }
#endif
