import CRDTCore

/// What a half says is to be done.
extension Telling {
  /// What a half decides on.
  enum Role: UInt8, CaseIterable, Sendable {
    /// The receiver tells the sender what it holds.
    case haves = 0
    /// The sender tells the receiver what it holds and does not send.
    case offers = 1

    /// The half at the other end.
    var other: Role { self == .haves ? .offers : .haves }

    /// About the bytes of a notice on the wire; a have carries a version vector.
    var noticeBytes: UInt64 { self == .haves ? 62 : 36 }
  }

  /// What is to be done for a half, in order.
  enum Step: Equatable {
    /// Tell of these documents, as they are by now.
    case tell([DocumentID])
    /// Tell of all that is held in the role.
    case tellAll
    /// Ask the other side for its filter.
    case ask(number: UInt64, spent: UInt64)
    /// Tell of what the other side has told of, of all that is held in the role.
    case lookAtAll(number: UInt64)
    /// Count what is held in the role, for a filter that the other side asks for.
    case count(number: UInt64)
    /// Make that filter, then send it.
    case fill(number: UInt64, FilterSize)
    /// Answer that there is nothing to tell.
    case answerNothing(number: UInt64)
    /// Answer that this side goes on checking nothing, as a filter would cost more than the other side has told.
    case refuse(number: UInt64, price: UInt64)
  }

  /// What an event comes to.
  struct Verdict: Equatable {
    /// Tell of the document.
    var tells = false
    var steps: [Step] = []
  }

  /// How what a comparison leaves over of a range is told.
  enum Leftovers: Equatable {
    /// One by one.
    case tell
    /// With all else that is held: these are the steps to it, if it is not on its way.
    case all([Step])
  }
}
