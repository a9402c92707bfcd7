import CRDTCore

/// The steps that a half asks its owner to perform.
extension NoticeHalf {
  /// The subject of a half.
  enum Role: UInt8, CaseIterable, Sendable {
    /// The receiver sends notices of what it holds.
    case haves = 0
    /// The sender sends notices of what it holds and does not send.
    case offers = 1

    /// The role of the half at the other end.
    var other: Role { self == .haves ? .offers : .haves }

    /// Approximate bytes of a notice on the wire; a `have` includes a version vector.
    var noticeBytes: UInt64 { self == .haves ? 62 : 36 }
  }

  /// What the owner of a half has to do, in order.
  enum Step: Equatable {
    /// Send notices of these documents in their current state.
    case report([DocumentID])
    /// Send notices of all documents held in the role.
    case reportAll
    /// Ask the other side for its filter.
    case ask(number: UInt64, spent: UInt64)
    /// Send notices of those held documents that the other side has reported.
    case lookAtAll(number: UInt64)
    /// Count the documents held in the role, for a filter that the other side requested.
    case count(number: UInt64)
    /// Build that filter, then send it.
    case fill(number: UInt64, FilterSize)
    /// Answer that there is nothing to report.
    case answerNothing(number: UInt64)
    /// Refuse the filter, since it would cost more than the other side's notices.
    ///
    /// This side then continues without a lookup of what the other side reports.
    case refuse(number: UInt64, price: UInt64)
  }

  /// The result of an event.
  struct Verdict: Equatable {
    /// Whether to send a notice of the document.
    var reports = false
    var steps: [Step] = []
  }

  /// How to report the documents that a reconciliation leaves over in a range.
  enum Leftovers: Equatable {
    /// Send one notice for each.
    case report
    /// Handle them together with all other held documents; the steps start that unless it is already pending.
    case all([Step])
  }
}
