#if DEBUG || SIMULATION
  package import CRDTCore

  /// A fact that a session reports to a simulator that sees both ends of a link.
  ///
  /// The simulator checks the rules that one end alone cannot check: `Documentation/Sync.md`, section "What
  /// is always true".
  ///
  /// Product builds have none of it.
  package enum SessionFact {
    /// A document's name.
    package typealias Name = (collection: String, id: DocumentID)

    /// A document of a transaction that is queued.
    package struct SentDocument {
      package let collection: String
      package let id: DocumentID
      /// What the receiver must have; `nil` where it must have one particular state.
      package let base: VersionVector?
      /// The version that is sent; `nil` where it is not known.
      package let vector: VersionVector?
    }

    /// How many small and how many large transactions; each kind leaves in its order.
    package struct Count: Equatable {
      package var small: UInt64
      package var large: UInt64
    }

    /// A transaction is queued, or a segment of one, of which the last one is marked.
    case queued([SentDocument], isLast: Bool)
    /// A notice is queued behind all queued transactions; `after` counts those queued so far.
    case noticeQueued(FrameType, after: Count)
    /// The first notice of this type is next to be sent.
    case noticeDequeued(FrameType)
    /// The notices of this type that wait are dropped.
    case noticesDropped(FrameType)
    /// A frame is sent; the counts are the transactions queued so far, and those of them sent or dropped.
    case sent(FrameType, queued: Count, gone: Count)
    /// A transaction made requests necessary; it is the last of this number of applied transactions.
    case lacking([Name], after: UInt64)
    /// Documents are requested.
    case requested([Name])
    /// This number of transactions is acknowledged.
    case acknowledged(UInt64)
    /// A reconciliation begins, of everything or of some collections.
    case reconciling(isFull: Bool)
  }
#endif
