import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import Testing

@testable import Transports

@Suite(.timeLimit(.minutes(5))) struct SessionInboxTests {
  @Test func `commits that nobody looks at are dropped beyond a bound, and that is told`() async throws {
    let peer = try TestPeer("peer")
    let inbox = SessionInbox()
    let turns = Mutex(0)
    let most = Mutex(0)
    let listener = peer.store.onCommit { commit in
      if inbox.post(commit) { turns.withLock { $0 += 1 } }
      most.withLock { $0 = max($0, inbox.commitBytes) }
    }
    for start in 0..<40 { try await peer.fill("things", start * 1_000..<(start + 1) * 1_000) }
    #expect(turns.withLock { $0 } == 1)
    #expect(most.withLock { $0 } <= 16 << 20)
    let input = try #require(inbox.take(keepingTurn: false))
    let lost = try #require(input.lostThrough)
    // What was kept goes on where the dropped ends, to the last commit.
    #expect(input.commits.allSatisfy { $0.sequence > lost })
    #expect(input.commits.last?.sequence == (try peer.store.read { $0.sequence }) || input.commits.isEmpty)
    #expect(inbox.commitBytes == 0)
    #expect(inbox.take(keepingTurn: false) == nil)
    try await peer.fill("things", 0..<1)
    #expect(turns.withLock { $0 } == 2)
    listener.cancel()
    await peer.end()
  }

  @Test func `subscriptions stand between commits, the last of those that no commit parts`() async throws {
    let peer = try TestPeer("peer")
    let inbox = SessionInbox()
    let listener = peer.store.onCommit { _ = inbox.post($0) }
    func subscribe(to names: String...) throws {
      let queries = try names.flatMap { try everything($0) }
      _ = inbox.post { $0.subscribe(to: queries) }
    }
    try subscribe(to: "things")
    try subscribe(to: "others")
    try await peer.fill("things", 0..<1)
    try await peer.fill("things", 1..<2)
    try subscribe()
    try await peer.fill("things", 2..<3)
    try subscribe(to: "things", "others")
    try subscribe(to: "things")
    var input = try #require(inbox.take(keepingTurn: false))
    #expect(input.commits.count == 3 && input.lostThrough == nil)
    #expect(input.subscriptions.map(\.afterCommits) == [0, 2, 3])
    #expect(input.subscriptions.map { $0.queries.map(\.collection) } == [["others"], [], ["things"]])

    // Where commits are dropped only the last set counts.
    try subscribe(to: "others")
    try await peer.fill("things", 3..<4)
    try subscribe(to: "things")
    try await peer.fill("things", 4..<40_000)
    input = try #require(inbox.take(keepingTurn: false))
    #expect(input.commits.isEmpty && input.lostThrough != nil)
    #expect(input.subscriptions.map(\.afterCommits) == [0])
    #expect(input.subscriptions.map { $0.queries.map(\.collection) } == [["things"]])
    listener.cancel()
    await peer.end()
  }

  @Test func `a commit above the bound is kept when it is alone`() async throws {
    let peer = try TestPeer("peer")
    let inbox = SessionInbox()
    let listener = peer.store.onCommit { _ = inbox.post($0) }
    try await peer.fill("things", 0..<20_000)
    let input = try #require(inbox.take(keepingTurn: false))
    #expect(input.commits.count == 1 && input.lostThrough == nil)
    listener.cancel()
    await peer.end()
  }

  @Test func `small commits are looked at together, what follows a large one after it`() async throws {
    let peer = try TestPeer("peer")
    let commits = Mutex<[Commit]>([])
    let listener = peer.store.onCommit { commit in commits.withLock { $0.append(commit) } }
    var next = 0
    for count in [1, 2, 60, 1, 5, 200, 1, 63, 64, 1] {
      try await peer.fill("things", next..<next + count)
      next += count
    }
    let batches = commits.withLock { $0.batches }
    #expect(batches.map { $0.map(\.changes.count) } == [[1, 2, 60, 1], [5, 200], [1, 63], [64], [1]])
    #expect(batches.flatMap { $0.map(\.sequence) } == commits.withLock { $0.map(\.sequence) })
    #expect([Commit]().batches.isEmpty)
    listener.cancel()
    await peer.end()
  }
}
