import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// Which states may follow which: the tables of `Documentation/Sync.md`.
@Suite struct SessionStateTests {
  private static let checkpoint = SyncCheckpoint(
    epoch: 1, sequence: 2, commitCheck: 3, policyHash: 4, interest: 5, own: 6, compared: 7)

  private static let phases: [PullState.Phase] = [
    .idle, .resuming(checkpoint, isRepeated: false), .following(through: 9), .asking, .settling, .done,
  ]

  @Test func `a pull goes the ways that the page lists, and no others`() {
    let ways: Set<[Int]> = [
      [0, 1], [0, 3], [0, 5], [1, 1], [1, 2], [2, 5], [3, 4], [4, 5], [5, 3], [5, 5],
    ]
    for (from, phase) in Self.phases.enumerated() {
      for (to, next) in Self.phases.enumerated() {
        expectEqual(phase.mayLead(to: next), to == 0 || ways.contains([from, to]), "\(phase) → \(next)")
      }
    }
  }

  private static let holdings: [PeerHolding.State] = [
    .unknown, .awaited, .followed, .settled(confirmed: nil),
  ]

  @Test func `what is known of the peer changes in the ways that the page lists, and no others`() {
    let ways: Set<[Int]> = [
      [0, 1], [0, 2], [1, 1], [1, 2], [2, 0], [2, 1], [2, 3], [3, 0], [3, 1], [3, 2], [3, 3],
    ]
    for (from, state) in Self.holdings.enumerated() {
      for (to, next) in Self.holdings.enumerated() {
        expectEqual(state.mayLead(to: next), ways.contains([from, to]), "\(state) → \(next)")
      }
    }
  }

  @Test func `a served reconciliation goes the ways that the page lists, and no others`() {
    let phases: [ServedReconciliation.Phase] = [.idle, .asking, .asked(at: .zero), .closing, .closed]
    for (from, phase) in phases.enumerated() {
      for (to, next) in phases.enumerated() {
        expectEqual(phase.mayLead(to: next), to == 0 || to == from + 1, "\(phase) → \(next)")
      }
    }
  }

  @Test func `an interest is served from the time that it is known`() {
    let states: [PeerInterest.State] = [.unknown, .awaited, .nothing, .served(generation: 1)]
    let ways: Set<[Int]> = [[0, 1], [0, 2], [0, 3], [1, 1], [1, 3], [2, 1], [2, 3], [3, 3]]
    for (from, state) in states.enumerated() {
      for (to, next) in states.enumerated() {
        expectEqual(state.mayLead(to: next), ways.contains([from, to]), "\(state) → \(next)")
      }
    }
  }

  @Test func `who sends notices of a collection changes in four ways, and no others`() {
    let tuning = SyncTuning()
    let told = ReportedDocuments(tuning)
    let states: [NoticeHalf.State] = [
      .reports, .leads, .asked(NoticeHalf.Asked(hasLed: false, looksAtAll: false, reported: told)),
      .checks(NoticeHalf.Checks(reported: told, room: 1, isLooking: false)),
    ]
    let ways: Set<[Int]> = [[0, 1], [0, 2], [1, 1], [1, 2], [2, 0], [2, 1], [2, 3], [3, 1], [3, 2]]
    for (from, state) in states.enumerated() {
      for (to, next) in states.enumerated() {
        expectEqual(state.mayLead(to: next), ways.contains([from, to]), "\(state.name) → \(next.name)")
      }
    }
  }

  @Test func `a session goes the ways that the page lists, and no others`() {
    let hello = RawPeer.hello
    let states: [Session.State] = [
      .idle, .awaitingHello(deadline: .zero),
      .met(hello, PeerInfo(kind: .small, name: "", site: hello.site, logEpoch: 1, version: 1)),
      .doubtingSite(deadline: .zero), .open, .closed(.closedHere),
    ]
    let ways: Set<[Int]> = [[0, 1], [1, 2], [1, 3], [1, 4], [2, 4]]
    for (from, state) in states.enumerated() {
      for (to, next) in states.enumerated() {
        let isWay = ways.contains([from, to]) || to == 5 && from != 5
        expectEqual(state.mayLead(to: next), isWay, "\(state.name) → \(next.name)")
      }
    }
  }

  @Test func `a session opens once, and does not go on when it is closed`() {
    let (hello, doubt) = (
      Session.State.awaitingHello(deadline: .zero), Session.State.doubtingSite(deadline: .zero)
    )
    let closed = Session.State.closed(.closedHere)
    #expect(Session.State.idle.mayLead(to: hello) && hello.mayLead(to: .open) && hello.mayLead(to: doubt))
    #expect(!doubt.mayLead(to: .open) && !Session.State.open.mayLead(to: hello))
    #expect(!Session.State.idle.mayLead(to: .open) && !Session.State.open.mayLead(to: .open))
    for state in [Session.State.idle, hello, doubt, .open] {
      expect(state.mayLead(to: closed) && !closed.mayLead(to: state))
    }
  }

  @Test func `what is known of the peer begins with a reconciliation and ends with a doubt`() {
    var holding = PeerHolding()
    holding.settle()
    #expect(holding.state == .unknown && !holding.isKnown)
    holding.follow()
    #expect(holding.state == .followed && holding.isKnown && holding.confirmed == nil)
    holding.confirm(3)
    #expect(holding.state == .followed)
    holding.settle()
    holding.confirm(3)
    #expect(holding.confirmed == 3)
    holding.follow()
    #expect(holding.confirmed == 3)
    holding.unsettle()
    #expect(holding.state == .followed)
    holding.doubt()
    #expect(holding.state == .unknown)
    holding.awaitReconciliation()
    holding.doubt()
    #expect(holding.isAwaited && !holding.isKnown)
  }

  @Test func `a reconciliation that began before the peer had read a renew frame is void`() throws {
    var renewal = Renewal()
    #expect(throws: SyncError.self) { try renewal.hear() }
    renewal.noteSent()
    let isWhole = renewal.begin()
    #expect(!isWhole && renewal.isOpen)
    try renewal.hear()
    let isWholeNow = renewal.begin()
    #expect(isWholeNow && !renewal.isOpen)
  }

  @Test func `a served reconciliation closes once, after its last document is sent`() {
    var served = ServedReconciliation()
    #expect(!served.isRunning)
    served.begin(4, isVoid: false, start: 7, lastDocument: DocumentNumber(9), cutsByContent: false)
    #expect(served.isActive && !served.isAsked && served.askedAt == nil)
    served.noteAsked(now: .seconds(2))
    #expect(served.isActive && served.askedAt == .seconds(2))
    served.finish()
    #expect(!served.isActive && served.isClosing && served.isRunning)
    let isOther = served.close(3)
    let isClosed = served.close(4)
    let isClosedAgain = served.close(4)
    #expect(!isOther && isClosed && !isClosedAgain && !served.isRunning)
    served.breakOff()
    #expect(served.number == 4 && served.start == 7 && !served.isRunning)
  }
}

/// When checkpoint messages are due.
@Suite struct CheckpointMessagesTests {
  private static let queued = SendQueue.Progress(small: 3, large: 1)

  @Test func `the first is due at once, and one waits at a time`() {
    var messages = CheckpointMessages()
    #expect(messages.time(at: 5, after: Self.queued, isMoved: false, now: .seconds(1)) == .seconds(1))
    let mark = messages.make(at: 5, after: Self.queued)
    #expect(messages.time(at: 6, after: Self.queued, isMoved: true, now: .seconds(1)) == nil)
    let isSent = messages.accept(mark, now: .seconds(1))
    let isSentAgain = messages.accept(mark, now: .seconds(1))
    #expect(isSent && !isSentAgain)
  }

  @Test func `the next is due sooner if something concerns the receiver, and at once if it has asked`() {
    var messages = CheckpointMessages()
    messages.noteKnown(5, after: Self.queued, now: .seconds(1))
    #expect(messages.time(at: 5, after: Self.queued, isMoved: true, now: .seconds(2)) == nil)
    let quiet = messages.time(at: 6, after: Self.queued, isMoved: false, now: .seconds(2))
    #expect(quiet == .seconds(1) + CheckpointMessages.quietInterval)
    let moved = messages.time(at: 6, after: Self.queued, isMoved: true, now: .seconds(2))
    #expect(moved == .seconds(1) + CheckpointMessages.interval)
    let more = SendQueue.Progress(small: 4, large: 1)
    #expect(messages.time(at: 6, after: more, isMoved: false, now: .seconds(2)) == moved)
    messages.countAsk()
    #expect(messages.time(at: 5, after: Self.queued, isMoved: false, now: .seconds(2)) == .seconds(2))
  }

  @Test func `one that has become doubtful is not sent`() {
    var messages = CheckpointMessages()
    let mark = messages.make(at: 5, after: Self.queued)
    messages.cancel()
    let isSent = messages.accept(mark, now: .seconds(1))
    #expect(!isSent)
    #expect(messages.time(at: 5, after: Self.queued, isMoved: false, now: .seconds(1)) == .seconds(1))
  }
}

/// Whether a link is alive, and its peer gets on.
@Suite struct LinkHealthTests {
  @Test func `a silent peer and one that gets nowhere are given up, each by name`() throws {
    var health = LinkHealth()
    health.start(now: .seconds(1))
    try health.check(silence: .seconds(30), patience: .seconds(60), now: .seconds(30))
    #expect(throws: SyncError(.timeout, "The peer has said nothing for 30.0 seconds")) {
      try health.check(silence: .seconds(30), patience: .seconds(60), now: .seconds(31))
    }
    health.note(
      acknowledged: 0, isSending: true, answers: 0, isPulling: false, asked: 0, now: .seconds(31))
    health.lastReceived = .seconds(95)
    #expect(throws: SyncError.self) {
      try health.check(silence: .seconds(30), patience: .seconds(60), now: .seconds(95))
    }
    health.note(
      acknowledged: 1, isSending: true, answers: 0, isPulling: false, asked: 0, now: .seconds(95))
    try health.check(silence: .seconds(30), patience: .seconds(60), now: .seconds(96))
    #expect(health.stallDeadlines(.seconds(60)).count == 1)
  }

  @Test func `pings are answered as far as bytes and time pay for them`() {
    var health = LinkHealth()
    health.start(now: .zero)
    var count = 0
    while health.mayAnswerPing(bytesReceived: 0, now: .zero) { count += 1 }
    #expect(count == SyncLimits.pingsAtOnce)
    let isPaid = health.mayAnswerPing(bytesReceived: UInt64(SyncLimits.bytesPerPing), now: .zero)
    let isPaidTwice = health.mayAnswerPing(bytesReceived: UInt64(SyncLimits.bytesPerPing), now: .zero)
    let isEarned = health.mayAnswerPing(
      bytesReceived: UInt64(SyncLimits.bytesPerPing), now: SyncLimits.timePerPing)
    #expect(isPaid && !isPaidTwice && isEarned)
  }

  @Test func `a probe ends once`() {
    var health = LinkHealth()
    let hadNone = health.endProbe()
    health.probe(until: .seconds(3))
    #expect(health.lifeDeadline == .seconds(3))
    let hadOne = health.endProbe()
    #expect(!hadNone && hadOne && health.lifeDeadline == nil)
  }
}
