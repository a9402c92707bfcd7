import CRDTCore

/// Shortens a failing script for as long as it breaks the same promise.
///
/// It removes events, peers and links, and takes faults away from links and peers.
///
/// Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002.
package struct Shrinker {
  private let violation: Violation
  private let run: (Script) -> Violation?
  private let isOver: () -> Bool
  package private(set) var script: Script
  package private(set) var attempts = 0

  /// - Parameters:
  ///   - script: Breaks the promise.
  ///   - violation: Which promise it breaks, or which rule of sync.
  ///   - isOver: Whether it has taken long enough.
  ///   - run: Plays a script.
  package init(
    _ script: Script, breaking violation: Violation, until isOver: @escaping () -> Bool = { false },
    run: @escaping (Script) -> Violation?
  ) {
    self.script = script
    self.violation = violation
    self.isOver = isOver
    self.run = run
  }

  /// Takes away what can be taken away.
  package mutating func shrink() {
    var previous = -1
    while previous != weight, !isOver() {
      previous = weight
      for number in script.peers.indices { attempt { $0.removeEvents(of: number) } }
      for number in script.links.indices.reversed() { attempt { $0.removeLink(number) } }
      removeEvents()
      simplifyWrites()
      for number in script.links.indices { attempt { $0.links[number].calm() } }
      for number in script.peers.indices { attempt { $0.peers[number].calm() } }
    }
  }

  private var weight: Int {
    script.events.count * 10 + script.links.count + script.events.reduce(0) { $0 + $1.what.size }
  }

  @discardableResult
  private mutating func attempt(_ change: (inout Script) -> Void) -> Bool {
    guard !isOver() else { return false }
    var candidate = script
    change(&candidate)
    guard candidate != script else { return false }
    attempts += 1
    guard run(candidate)?.isLike(violation) == true else { return false }
    script = candidate
    return true
  }

  /// Takes away ever smaller runs of events.
  private mutating func removeEvents() {
    var length = max(script.events.count / 2, 1)
    while length >= 1 {
      var start = 0
      while start < script.events.count {
        let end = min(start + length, script.events.count)
        let isRemoved = attempt { $0.events.removeSubrange(start..<end) }
        if !isRemoved { start = end }
      }
      if length == 1 { return }
      length /= 2
    }
  }

  private mutating func simplifyWrites() {
    for index in script.events.indices {
      guard case .write(let peer, let edits) = script.events[index].what, edits.count > 1 else { continue }
      for place in edits.indices.reversed() {
        attempt { script in
          guard case .write(_, var edits) = script.events[index].what, edits.count > 1 else { return }
          edits.remove(at: min(place, edits.count - 1))
          script.events[index].what = .write(peer: peer, edits: edits)
        }
      }
    }
  }
}

extension Script {
  fileprivate mutating func removeEvents(of peer: Int) { events.removeAll { $0.what.peers.contains(peer) } }

  /// Links are numbered, so the events of those that follow change with it.
  fileprivate mutating func removeLink(_ number: Int) {
    guard links.count > 1 else { return }
    links.remove(at: number)
    events = events.compactMap { event in
      guard let link = event.what.link else { return event }
      guard link != number else { return nil }
      return link < number ? event : ScriptEvent(at: event.at, event.what.moved(to: link - 1))
    }
  }
}

extension ScriptEvent.What {
  fileprivate var size: Int {
    if case .write(_, let edits) = self { edits.count } else { 1 }
  }

  fileprivate func moved(to link: Int) -> Self {
    switch self {
    case .cut(_, let towardB, let after, let heard):
      .cut(link: link, towardB: towardB, after: after, heard: heard)
    case .down(_, let time): .down(link: link, for: time)
    case .stall(_, let towardB, let time): .stall(link: link, towardB: towardB, for: time)
    case .garble(_, let towardB, let after, let how):
      .garble(link: link, towardB: towardB, after: after, how: how)
    default: self
    }
  }
}

extension LinkPlan {
  fileprivate mutating func calm() { self = LinkPlan(a: a, b: b) }
}

extension PeerPlan {
  fileprivate mutating func calm() {
    (clockOffset, clockDrift, tuning, memory, slowness, observed) = (0, 0, 0, nil, 100, [])
    (liveQueueBytes, windowBytes, silence) = (16 << 20, 32 << 10, 30_000)
  }
}
