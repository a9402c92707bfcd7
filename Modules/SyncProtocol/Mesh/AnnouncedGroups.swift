import CRDTCore

/// What a sender has announced and this peer is not done with.
struct AnnouncedGroups {
  /// How far an announced group has come.
  enum Standing: Equatable {
    /// What it builds on may be about to be applied, with the groups up to this one.
    case early(until: UInt64)
    /// It may come from elsewhere.
    case held(isBehind: Bool)
    /// It was asked for.
    case wanted
    /// It was asked for in vain: a reconciliation later than this finds what there is.
    case lost(round: UInt64)
  }

  struct Group {
    /// Its place among all that were announced in the session, from 1.
    let number: UInt64
    /// Those of its documents that concern this peer.
    let documents: [AnnouncedDocument]
    /// Those of the documents' changes that are waited for.
    let changes: [PullScheduler.Change]
    let since: Duration
    var deadline: Duration
    var standing: Standing
  }

  /// In the order of their announcement.
  private(set) var groups: [Group] = []
  private(set) var received: UInt64 = 0
  private(set) var documentCount = 0
  /// Documents that were settled since the sender was told of any.
  private(set) var untold = 0
  /// When the next group is to be looked at.
  private(set) var deadline: Duration?
  /// Whether something came in, by which what was asked for may be here.
  var isAnswered = false
  /// What the sender was told of ``settled``, and when.
  private(set) var told: (settled: UInt64, at: Duration) = (0, .zero)

  /// How many announced groups are done with, up to the first that is not.
  var settled: UInt64 { (groups.first?.number).map { $0 - 1 } ?? received }

  /// Whether something that was announced is neither here nor asked for.
  var isOpen: Bool { groups.contains { $0.standing != .wanted } }

  mutating func countOne() -> UInt64 {
    received += 1
    return received
  }

  mutating func append(_ group: Group) {
    groups.append(group)
    documentCount += group.documents.count
    deadline = min(deadline ?? group.deadline, group.deadline)
  }

  /// Has every group that waits for another session looked at now.
  mutating func hurry(now: Duration) {
    for index in groups.indices where groups[index].standing == .held(isBehind: true) {
      groups[index].deadline = now
      deadline = now
    }
  }

  /// Whether a group is to be looked at.
  func isDue(now: Duration) -> Bool { isAnswered || deadline.map { $0 <= now } ?? false }

  /// Looks at the groups whose time has come, one after the other, and at those that were asked for as far as they are
  /// here.
  ///
  /// `body` gives a group its next standing and deadline; `nil` when it is done with.
  mutating func look(
    now: Duration, _ body: (Group) throws -> (Standing, deadline: Duration)?
  ) rethrows {
    var kept: [Group] = []
    kept.reserveCapacity(groups.count)
    var next: Duration?
    for var group in groups {
      if group.deadline <= now || isAnswered && group.standing == .wanted {
        guard let (standing, deadline) = try body(group) else {
          documentCount -= group.documents.count
          untold += group.documents.count
          continue
        }
        // They come in the order in which they were asked for.
        if group.standing == .wanted { isAnswered = false }
        group.standing = standing
        group.deadline = deadline
      }
      next = min(next ?? group.deadline, group.deadline)
      kept.append(group)
    }
    groups = kept
    deadline = next
    isAnswered = false
  }

  mutating func tell(now: Duration) {
    told = (settled, now)
    untold = 0
  }
}
