import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import Synchronization
import TestKit
import Testing

@testable import Transports

@Suite(.timeLimit(.minutes(15))) struct SessionInboxTests {
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
    let input = try #require(inbox.take(keepingTurn: false).input)
    let lost = try #require(input.lostThrough)
    // What was kept goes on where the dropped ends, to the last commit.
    #expect(input.commits.allSatisfy { $0.sequence > lost })
    #expect(input.commits.last?.sequence == (try peer.store.read { $0.sequence }) || input.commits.isEmpty)
    #expect(inbox.commitBytes == 0)
    #expect(inbox.take(keepingTurn: false).input == nil)
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
    var input = try #require(inbox.take(keepingTurn: false).input)
    #expect(input.commits.count == 3 && input.lostThrough == nil)
    #expect(input.subscriptions.map(\.afterCommits) == [0, 2, 3])
    #expect(input.subscriptions.map { $0.queries.map(\.collection) } == [["others"], [], ["things"]])

    // Where commits are dropped only the last set counts.
    try subscribe(to: "others")
    try await peer.fill("things", 3..<4)
    try subscribe(to: "things")
    try await peer.fill("things", 4..<40_000)
    input = try #require(inbox.take(keepingTurn: false).input)
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
    let input = try #require(inbox.take(keepingTurn: false).input)
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

  @Test func `who finds nothing is told whether the turn is still theirs`() throws {
    let inbox = SessionInbox()
    #expect(inbox.post { $0.nudged = true })
    #expect(inbox.take(keepingTurn: true).input?.nudged == true)
    guard case .nothing = inbox.take(keepingTurn: true) else { throw Surprise() }
    #expect(!inbox.post { $0.closing = .closedHere })
    #expect(inbox.take(keepingTurn: false).input?.closing == .closedHere)
    guard case .turnGiven = inbox.take(keepingTurn: false) else { throw Surprise() }
    // The next one to put something in has it.
    #expect(inbox.post { $0.isDue = true })
  }

  @Test func `what is held counts until it is handed out, and the link waits as long`() throws {
    let inbox = SessionInbox()
    #expect(inbox.hasRoom)
    #expect(inbox.post(chunk: [UInt8](repeating: 1, count: DriverLimits.unseenBytes)))
    for isAdmitted in [false, true] {
      if isAdmitted { expect(!inbox.postAdmission(.everything)) }
      let input = try #require(inbox.take(keepingTurn: true, holdingChunks: true).input)
      expect(input.chunks.isEmpty && (input.admitted != nil) == isAdmitted)
      expect(!inbox.hasRoom)
    }
    let chunks = try #require(inbox.take(keepingTurn: true, holdingChunks: false).input).chunks
    #expect(chunks.count == 1)
    // What was taken out may be put back, and counts until the session has seen it.
    #expect(!inbox.hasRoom)
    inbox.sawChunks(allBut: [])
    #expect(inbox.hasRoom)
  }

  @Test func `what is put back, again and again, leaves no room for more`() throws {
    let inbox = SessionInbox()
    let chunk = [UInt8](repeating: 1, count: 64 << 10)
    var received = 0
    func fill() {
      while inbox.hasRoom {
        _ = inbox.post(chunk: chunk)
        received += chunk.count
      }
    }
    fill()
    var seen = 0
    for _ in 0..<40 {
      let chunks = try #require(inbox.take(keepingTurn: true).input).chunks
      // The link goes on while the session takes one piece of what there is.
      fill()
      seen += chunk.count
      inbox.sawChunks(allBut: chunks.dropFirst())
      fill()
      expect(received - seen <= DriverLimits.unseenBytes)
    }
    #expect(seen > 2 * DriverLimits.unseenBytes)
  }

  @Test func `sessions together hold a bound of received bytes, and each of them a few`() {
    let unseen = UnseenBytes()
    let piece = [UInt8](repeating: 1, count: 16 << 10)
    var inboxes = (0..<64).map { _ in SessionInbox(unseen) }
    for inbox in inboxes {
      while inbox.hasRoom { _ = inbox.post(chunk: piece) }
    }
    let least = inboxes.count * DriverLimits.leastUnseenBytes
    #expect(unseen.count >= DriverLimits.allUnseenBytes)
    #expect(unseen.count <= DriverLimits.allUnseenBytes + DriverLimits.unseenBytes + least)
    // Whoever has processed its own goes on, whatever the others hold.
    _ = inboxes[63].take(keepingTurn: true)
    inboxes[63].sawChunks(allBut: [])
    #expect(inboxes[63].hasRoom)
    for inbox in inboxes.prefix(32) { inbox.discard() }
    inboxes.removeAll()
    #expect(unseen.count == 0)
  }

  @Test func `an end is known before it is its turn`() {
    let inbox = SessionInbox()
    _ = inbox.post { $0.nudged = true }
    #expect(inbox.ending == nil)
    _ = inbox.post { $0.linkEnd = LinkError(.disconnected, "gone") }
    #expect(inbox.ending?.code == .disconnected)
    _ = inbox.take(keepingTurn: true)
    #expect(inbox.ending?.code == .disconnected)
    let other = SessionInbox()
    _ = other.post { $0.cancelled = true }
    #expect(other.ending?.code == .cancelled)
  }

  @Test func `one thread at a time has the turn, however many put something in`() async {
    let inbox = SessionInbox()
    let holders = Holders()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<5_000 where inbox.post(chunk: [0]) {
            holders.enter()
            while true {
              // Before the turn may be given up, and not after.
              holders.leave()
              guard let input = inbox.take(keepingTurn: false).input else { break }
              holders.enter()
              holders.taken.add(input.chunks.count, ordering: .relaxed)
            }
          }
        }
      }
    }
    let (taken, wereTwo) = (
      holders.taken.load(ordering: .relaxed), holders.wereTwo.load(ordering: .relaxed)
    )
    #expect(taken == 40_000)
    #expect(!wereTwo)
  }
}

/// Counts those who have the turn.
private final class Holders: Sendable {
  private let count = Atomic(0)
  let wereTwo = Atomic(false)
  let taken = Atomic(0)

  func enter() {
    if count.add(1, ordering: .relaxed).newValue > 1 { wereTwo.store(true, ordering: .relaxed) }
  }

  func leave() { count.subtract(1, ordering: .relaxed) }
}

private struct Surprise: Error {}

extension SessionInbox.Taken {
  fileprivate var input: SessionInbox.Input? { if case .input(let input) = self { input } else { nil } }
}
