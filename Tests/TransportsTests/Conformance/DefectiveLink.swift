import Foundation
import Links
import Synchronization

/// A good link with one defect, which stands between it and its user.
final class DefectiveLink: Link {
  struct State {
    var isAttached = false
    var isClosed = false
    var isFinished = false
    /// Whether the user is being called, and whether it had no room when it was asked last.
    var isInside = false
    var lacksRoom = false
    /// A write that is held back, and how much has gone through.
    var held: [[UInt8]] = []
    var writtenBytes = 0
  }

  /// For those that are kept for good.
  private static let kept = Mutex<[any LinkUser]>([])

  let defect: LinkDefect
  let state = Mutex(State())
  private let link: any Link

  init(_ link: any Link, _ defect: LinkDefect) {
    self.link = link
    self.defect = defect
  }

  var endpoint: LinkEndpoint { link.endpoint }
  var statistics: LinkStatistics { defect == .countsNothing ? LinkStatistics() : link.statistics }
  var executor: any LinkExecutor { OddExecutor(inner: link.executor, defect: defect) }

  func attach(_ user: any LinkUser) {
    if defect == .keepsItsUser { Self.kept.withLock { $0.append(user) } }
    let wasClosed = state.withLock { state in
      state.isAttached = true
      return state.isClosed
    }
    if defect == .closeBeforeTheUserIsForgotten, wasClosed { return }
    link.attach(DefectiveUser(user, self))
  }

  func write(_ pieces: [[UInt8]]) {
    let isDropped = state.withLock { state in
      state.writtenBytes += pieces.reduce(0) { $0 + $1.count }
      return switch defect {
      case .losesEarlyBytes: !state.isAttached
      case .dropsWritesInside: state.isInside
      case .stopsBothWays: state.lacksRoom
      case .readsOnWhateverIsUnsent: state.writtenBytes > 24 << 20
      default: false
      }
    }
    if isDropped { return }
    switch defect {
    // The last piece of each write comes behind the first of the next.
    case .tearsWrites:
      link.write(
        state.withLock { state in
          defer { state.held = Array(pieces.suffix(1)) }
          return pieces.prefix(1) + state.held + pieces.dropFirst().dropLast()
        })
    case .handsOverNothing where pieces.allSatisfy(\.isEmpty): link.write([[0]])
    case .finishDropsWhatIsQueued:
      let before = state.withLock { state in
        defer { state.held = pieces }
        return state.held
      }
      link.write(before)
    default: link.write(pieces)
    }
  }

  func resumeReading() { if defect != .neverResumes { link.resumeReading() } }

  func finishWriting() {
    switch defect {
    case .finishClosesBoth: link.close(LinkError(.closed, "It ended both"))
    // What is written meanwhile goes out before the end.
    case .writesBehindTheEnd: later(.milliseconds(20)) { $0.finishWriting() }
    case .tearsWrites:
      link.write(state.withLock { $0.held })
      link.finishWriting()
    default: link.finishWriting()
    }
  }

  func close(_ reason: LinkError) {
    state.withLock { $0.isClosed = true }
    switch defect {
    case .writesBehindTheClose: later(.milliseconds(20)) { $0.close(reason) }
    case .closeWaitsForTheReader:
      link.finishWriting()
      later(.seconds(3)) { $0.close(reason) }
    default: link.close(reason)
    }
  }

  private func later(_ pause: Duration, _ body: @escaping @Sendable (any Link) -> Void) {
    Task { [link] in
      try? await Task.sleep(for: pause)
      body(link)
    }
  }
}

/// Stands before a user, and tells it what the link tells, but for the defect.
private final class DefectiveUser: LinkUser {
  private struct State {
    var chunks = 0
    var held: [UInt8]?
  }

  private let user: any LinkUser
  private let link: DefectiveLink
  private let elsewhere = LoopExecutor.next()
  private let state = Mutex(State())

  init(_ user: any LinkUser, _ link: DefectiveLink) {
    self.user = user
    self.link = link
  }

  var hasRoom: Bool {
    if link.defect == .ignoresRoom { return true }
    let hasRoom = user.hasRoom
    link.state.withLock { $0.lacksRoom = !hasRoom }
    return hasRoom
  }

  func received(_ bytes: [UInt8]) {
    for chunk in spoiled(bytes) {
      switch link.defect {
      case .callsElsewhere: elsewhere.execute { [user] in user.received(chunk) }
      case .callsFromTwoThreads: callFromTwoThreads(chunk)
      default:
        link.state.withLock { $0.isInside = true }
        user.received(chunk)
        link.state.withLock { $0.isInside = false }
      }
    }
  }

  /// Asks for room for as long as another thread hands something over.
  private func callFromTwoThreads(_ chunk: [UInt8]) {
    let thread = Thread { [user] in user.received(chunk) }
    thread.start()
    while !thread.isFinished { _ = user.hasRoom }
  }

  /// What becomes of the second chunk, or of the first two.
  private func spoiled(_ bytes: [UInt8]) -> [[UInt8]] {
    state.withLock { state in
      state.chunks += 1
      switch (link.defect, state.chunks) {
      case (.losesAPiece, 2): return []
      case (.doublesAPiece, 2): return [bytes, bytes]
      case (.reordersPieces, 1):
        state.held = bytes
        return []
      case (.reordersPieces, 2): return [bytes, state.held ?? []]
      case (.changesAByte, 2): return [[bytes[0] ^ 1] + bytes.dropFirst()]
      case (.handsOverNothing, _): return [[], bytes]
      default: return [bytes]
      }
    }
  }

  func ended(_ direction: LinkDirection, _ error: LinkError?) {
    switch link.defect {
    case .tellsTheEndTwice:
      user.ended(direction, error)
      user.ended(direction, error)
    case .neverTellsTheEnd where direction == .inbound: break
    case .closeIsNotTold where link.state.withLock({ $0.isClosed }): break
    case .closeIsInOrder: user.ended(direction, nil)
    case .receivesBehindTheEnd where direction == .inbound:
      user.ended(direction, error)
      user.received([1])
    case .callsElsewhere: elsewhere.execute { [user] in user.ended(direction, error) }
    default: user.ended(direction, error)
    }
  }
}

/// The executor of a defective link.
private struct OddExecutor: LinkExecutor {
  let inner: any LinkExecutor
  let defect: LinkDefect

  func execute(_ body: @escaping @Sendable () -> Void) {
    guard defect == .executorReorders, Int.random(in: 0..<10) == 0 else { return inner.execute(body) }
    inner.execute { [inner] in inner.execute(body) }
  }

  var isCurrent: Bool {
    switch defect {
    case .executorKnowsNoThread: false
    case .callsFromTwoThreads: true
    default: inner.isCurrent
    }
  }
}
